// A conversation that is kept, forked, reverted and followed, with grpc-go.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	pb "example.com/conversation/gen/sessionpool/v1"
)

func main() {
	address := "127.0.0.1:50051"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	if err := run(context.Background(), address); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address string) error {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	sessions := pb.NewSessionServiceClient(connection)
	messages := pb.NewMessageServiceClient(connection)

	trip, err := sessions.CreateSession(ctx, &pb.CreateSessionRequest{Title: "Kyoto in May"})
	if err != nil {
		return err
	}
	question := message("question", "user", "When do the azaleas bloom?")
	first, err := messages.AppendMessage(ctx, &pb.AppendMessageRequest{SessionId: trip.SessionId, Message: question})
	if err != nil {
		return err
	}
	again, err := messages.AppendMessage(ctx, &pb.AppendMessageRequest{SessionId: trip.SessionId, Message: question})
	if err != nil {
		return err
	}
	fmt.Printf("question at %d, sent again at %d\n", first.Position, again.Position)
	answer := message("answer", "assistant", "Late April to the middle of May.")
	if _, err := messages.AppendMessage(ctx, &pb.AppendMessageRequest{SessionId: trip.SessionId, Message: answer}); err != nil {
		return err
	}

	if err := tryAnotherWay(ctx, sessions, messages, trip.SessionId); err != nil {
		return err
	}

	reverted, err := sessions.RevertSession(ctx, &pb.RevertSessionRequest{SessionId: trip.SessionId, UpToMessageId: "question"})
	if err != nil {
		return err
	}
	restored, err := sessions.UnrevertSession(ctx, &pb.UnrevertSessionRequest{SessionId: trip.SessionId})
	if err != nil {
		return err
	}
	fmt.Printf("revert removed %d, unrevert restored %d\n", reverted.RemovedCount, restored.RestoredCount)
	return follow(ctx, messages, trip.SessionId)
}

// message makes a message with an id of our own, so that sending it again stores nothing twice.
func message(id, role, text string) *pb.MessageWithParts {
	return &pb.MessageWithParts{
		Info:  &pb.MessageInfo{Id: id, Role: role},
		Parts: []*pb.Part{{Type: "text", Text: text}},
	}
}

func tryAnotherWay(ctx context.Context, sessions pb.SessionServiceClient, messages pb.MessageServiceClient, trip string) error {
	fork, err := sessions.ForkSession(ctx, &pb.ForkSessionRequest{SessionId: trip, UpToMessageId: "question"})
	if err != nil {
		return err
	}
	counted, err := messages.CountMessages(ctx, &pb.CountMessagesRequest{SessionId: trip})
	if err != nil {
		return err
	}
	fmt.Printf("the fork begins with %d of %d messages\n", fork.CopiedCount, counted.Count)
	other := message("answer", "assistant", "Early May, before the holidays end.")
	if _, err := messages.AppendMessage(ctx, &pb.AppendMessageRequest{SessionId: fork.Session.SessionId, Message: other}); err != nil {
		return err
	}
	for _, one := range []struct{ name, id string }{{"trip", trip}, {"fork", fork.Session.SessionId}} {
		page, err := messages.ListMessages(ctx, &pb.ListMessagesRequest{SessionId: one.id, Limit: proto.Int32(1), NewestFirst: true})
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", one.name, page.Messages[0].Parts[0].Text)
	}
	return nil
}

// follow prints the session's two messages as they come.
func follow(ctx context.Context, messages pb.MessageServiceClient, session string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := messages.WatchMessages(ctx, &pb.WatchMessagesRequest{SessionId: session, FromPosition: proto.Int64(0)})
	if err != nil {
		return err
	}
	for followed := 0; followed < 2; {
		event, err := events.Recv()
		if err != nil {
			return err
		}
		if appended := event.GetAppended(); appended != nil {
			fmt.Printf("followed %s: %s\n", appended.Info.Role, appended.Parts[0].Text)
			followed++
		}
	}
	return nil
}
