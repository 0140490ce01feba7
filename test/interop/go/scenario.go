package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "sessionpool.test/interop/gen/sessionpool/v1"
)

const timeout = 120 * time.Second

const anyValue = "$any"

type step struct {
	Step       string
	RPC        string
	Request    map[string]any
	Requests   []any
	Answer     map[string]any
	Error      *callError
	Save       map[string]string
	Events     []any
	Then       []step
	MoreEvents []any
}

type callError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// method calls one RPC. Exactly one of its functions is set.
type method struct {
	unary  func(ctx context.Context, request []byte) (proto.Message, *callError)
	stream func(ctx context.Context, request []byte) (events, *callError)
	upload func(ctx context.Context, requests [][]byte) (proto.Message, *callError)
}

// events returns the next message of a stream, or nil at its end, or the error that it ended with.
type events func() (proto.Message, *callError)

type scenario struct {
	methods map[string]method
	saved   map[string]any
}

func (s *scenario) steps(steps []step) {
	for _, one := range steps {
		report := map[string]any{"step": one.Step, "ok": true}
		if err := s.step(one); err != nil {
			report["ok"] = false
			report["why"] = err.Error()
		}
		exitOn(json.NewEncoder(os.Stdout).Encode(report))
	}
}

func (s *scenario) step(one step) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	request, err := json.Marshal(s.fill(one.Request))
	if err != nil {
		return err
	}
	called, known := s.methods[one.RPC]
	if !known {
		return fmt.Errorf("no method %s", one.RPC)
	}
	if called.stream != nil && one.Events != nil {
		return s.follow(ctx, one, called, request)
	}
	answer, failed := s.call(ctx, one, called, request)
	if failed != nil {
		return s.expectError(one, failed)
	}
	got, err := toJSON(answer)
	if err != nil {
		return err
	}
	if one.Error != nil {
		return fmt.Errorf("the call succeeded with %v", got)
	}
	if err := s.expect("answer", one.Answer, got); err != nil {
		return err
	}
	for name, path := range one.Save {
		s.saved[name] = pick(got, path)
	}
	return nil
}

func (s *scenario) call(ctx context.Context, one step, called method, request []byte) (proto.Message, *callError) {
	switch {
	case called.unary != nil:
		return called.unary(ctx, request)
	case called.stream != nil:
		next, failed := called.stream(ctx, request)
		if failed != nil {
			return nil, failed
		}
		return whole(next)
	}
	requests := make([][]byte, len(one.Requests))
	for number, message := range one.Requests {
		text, err := json.Marshal(s.fill(message))
		exitOn(err)
		requests[number] = text
	}
	return called.upload(ctx, requests)
}

// whole returns the first answer of a download, with the bytes of all.
func whole(next events) (proto.Message, *callError) {
	whole := &pb.GetAttachmentResponse{}
	for {
		answer, failed := next()
		if answer == nil {
			return whole, failed
		}
		part := answer.(*pb.GetAttachmentResponse)
		if part.Attachment != nil {
			whole.Attachment = part.Attachment
		}
		whole.Chunk = append(whole.Chunk, part.Chunk...)
	}
}

func (s *scenario) follow(ctx context.Context, one step, called method, request []byte) error {
	next, failed := called.stream(ctx, request)
	if failed != nil {
		return s.expectError(one, failed)
	}
	isOver, err := s.expectEvents(one, one.Events, next)
	if isOver || err != nil {
		return err
	}
	s.steps(one.Then)
	isOver, err = s.expectEvents(one, one.MoreEvents, next)
	if isOver || err != nil {
		return err
	}
	if one.Error != nil {
		return fmt.Errorf("the stream did not end with the expected error")
	}
	return nil
}

// expectEvents compares the next events. It also returns whether the stream has ended, with an error that was compared
// with that of the step.
func (s *scenario) expectEvents(one step, expected []any, next events) (bool, error) {
	for number, want := range expected {
		event, failed := nextEvent(next)
		if failed != nil {
			return true, s.expectError(one, failed)
		}
		if event == nil {
			return true, fmt.Errorf("the stream ended before event %d", number)
		}
		got, err := toJSON(event)
		if err != nil {
			return false, err
		}
		if err := s.expect(fmt.Sprintf("event %d", number), want, got); err != nil {
			return false, err
		}
	}
	return false, nil
}

// nextEvent leaves out heartbeats.
func nextEvent(next events) (proto.Message, *callError) {
	for {
		event, failed := next()
		if watched, isWatched := event.(*pb.WatchMessagesResponse); !isWatched || watched.GetHeartbeat() == nil {
			return event, failed
		}
	}
}

func (s *scenario) expectError(one step, got *callError) error {
	if one.Error == nil {
		return fmt.Errorf("error %d: %s", got.Code, got.Message)
	}
	if got.Code != one.Error.Code {
		return fmt.Errorf("error %d: %s, not %d", got.Code, got.Message, one.Error.Code)
	}
	return s.expect("error.message", one.Error.Message, got.Message)
}

func (s *scenario) expect(place string, expected, got any) error {
	switch want := s.fill(expected).(type) {
	case nil:
		if got != nil {
			return fmt.Errorf("%s is %v, not absent", place, got)
		}
	case map[string]any:
		object, isObject := got.(map[string]any)
		if !isObject {
			return fmt.Errorf("%s is %v, not an object", place, got)
		}
		for key, value := range want {
			if err := s.expect(place+"."+key, value, object[key]); err != nil {
				return err
			}
		}
	case []any:
		list, isList := got.([]any)
		if !isList || len(list) != len(want) {
			return fmt.Errorf("%s is %v, not %d items", place, got, len(want))
		}
		for number, value := range want {
			if err := s.expect(fmt.Sprintf("%s[%d]", place, number), value, list[number]); err != nil {
				return err
			}
		}
	case string:
		if want == anyValue && (got == nil || got == "") {
			return fmt.Errorf("%s is absent", place)
		}
		if want != anyValue && got != want {
			return fmt.Errorf("%s is %v, not %q", place, got, want)
		}
	default:
		if got != want {
			return fmt.Errorf("%s is %v, not %v", place, got, want)
		}
	}
	return nil
}

// fill replaces the names of saved values with the values that earlier steps saved.
func (s *scenario) fill(value any) any {
	switch value := value.(type) {
	case string:
		if saved, known := s.saved[strings.TrimPrefix(value, "$")]; known && strings.HasPrefix(value, "$") {
			return saved
		}
	case map[string]any:
		if ends, isBytes := value["$bytes"].([]any); isBytes {
			from, to := int(ends[0].(float64)), int(ends[1].(float64))
			bytes := make([]byte, to-from)
			for place := range bytes {
				bytes[place] = byte((from + place) % 251)
			}
			return base64.StdEncoding.EncodeToString(bytes)
		}
		filled := make(map[string]any, len(value))
		for key, one := range value {
			filled[key] = s.fill(one)
		}
		return filled
	case []any:
		filled := make([]any, len(value))
		for number, one := range value {
			filled[number] = s.fill(one)
		}
		return filled
	}
	return value
}

func toJSON(message proto.Message) (any, error) {
	text, err := protojson.Marshal(message)
	if err != nil {
		return nil, err
	}
	var value any
	return value, json.Unmarshal(text, &value)
}

func pick(value any, path string) any {
	for _, key := range strings.Split(path, ".") {
		switch inner := value.(type) {
		case map[string]any:
			value = inner[key]
		case []any:
			number, err := strconv.Atoi(key)
			exitOn(err)
			value = inner[number]
		}
	}
	return value
}
