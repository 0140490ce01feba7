// Runs the scenario file with grpc-go or connect-go, and prints one line of JSON for each step.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, "usage: scenario grpc-go|connect|grpc-web|grpc SCENARIO GRPC_ADDRESS HTTP_URL")
		os.Exit(2)
	}
	client, scenarioPath, grpcAddress, httpURL := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	text, err := os.ReadFile(scenarioPath)
	exitOn(err)
	var file struct{ Steps []step }
	exitOn(json.Unmarshal(text, &file))
	methods, err := methodsOf(client, grpcAddress, httpURL)
	exitOn(err)
	run := scenario{methods: methods, saved: map[string]any{}}
	run.steps(file.Steps)
}

func methodsOf(client, grpcAddress, httpURL string) (map[string]method, error) {
	if client == "grpc-go" {
		return grpcMethods(grpcAddress)
	}
	return connectMethods(client, grpcAddress, httpURL)
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
