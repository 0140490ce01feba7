package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "sessionpool.test/interop/gen/sessionpool/v1"
	"sessionpool.test/interop/gen/sessionpool/v1/sessionpoolv1connect"
)

// connectMethods returns methods that speak `protocol` to the HTTP port, and gRPC to the gRPC port for services that
// are served only there.
func connectMethods(protocol, grpcAddress, httpURL string) (map[string]method, error) {
	var options []connect.ClientOption
	client := http.DefaultClient
	switch protocol {
	case "connect":
		options = append(options, connect.WithHTTPGet(), connect.WithSendGzip())
	case "grpc-web":
		options = append(options, connect.WithGRPCWeb())
	case "grpc":
		options = append(options, connect.WithGRPC())
		client = http2Client()
	default:
		return nil, fmt.Errorf("no protocol %s", protocol)
	}
	sessions := sessionpoolv1connect.NewSessionServiceClient(client, httpURL, options...)
	messages := sessionpoolv1connect.NewMessageServiceClient(client, httpURL, options...)
	attachments := sessionpoolv1connect.NewAttachmentServiceClient(client, httpURL, options...)
	todos := sessionpoolv1connect.NewTodoServiceClient(client, httpURL, options...)
	tracker := sessionpoolv1connect.NewTodoTrackerServiceClient(http2Client(), "http://"+grpcAddress, connect.WithGRPC())
	return map[string]method{
		"SessionService.CreateSession":       connectUnary(sessions.CreateSession),
		"SessionService.GetSession":          connectUnary(sessions.GetSession),
		"SessionService.LoadSession":         connectUnary(sessions.LoadSession),
		"SessionService.ListSessions":        connectUnary(sessions.ListSessions),
		"SessionService.UpdateSession":       connectUnary(sessions.UpdateSession),
		"SessionService.DeleteSession":       connectUnary(sessions.DeleteSession),
		"SessionService.ForkSession":         connectUnary(sessions.ForkSession),
		"SessionService.ShareSession":        connectUnary(sessions.ShareSession),
		"SessionService.RevertSession":       connectUnary(sessions.RevertSession),
		"SessionService.UnrevertSession":     connectUnary(sessions.UnrevertSession),
		"MessageService.AppendMessage":       connectUnary(messages.AppendMessage),
		"MessageService.AppendMessages":      connectUnary(messages.AppendMessages),
		"MessageService.GetMessage":          connectUnary(messages.GetMessage),
		"MessageService.ListMessages":        connectUnary(messages.ListMessages),
		"MessageService.CountMessages":       connectUnary(messages.CountMessages),
		"MessageService.CopyMessages":        connectUnary(messages.CopyMessages),
		"MessageService.TruncateMessages":    connectUnary(messages.TruncateMessages),
		"MessageService.UpdateMessage":       connectUnary(messages.UpdateMessage),
		"MessageService.DeleteMessage":       connectUnary(messages.DeleteMessage),
		"MessageService.EraseMessage":        connectUnary(messages.EraseMessage),
		"MessageService.StartDraft":          connectUnary(messages.StartDraft),
		"MessageService.ExtendDraft":         connectUnary(messages.ExtendDraft),
		"MessageService.FinishDraft":         connectUnary(messages.FinishDraft),
		"MessageService.DiscardDraft":        connectUnary(messages.DiscardDraft),
		"MessageService.ListDrafts":          connectUnary(messages.ListDrafts),
		"MessageService.WatchMessages":       connectStream(messages.WatchMessages),
		"AttachmentService.UploadAttachment": {upload: connectUpload(attachments)},
		"AttachmentService.GetAttachment":    connectStream(attachments.GetAttachment),
		"AttachmentService.ListAttachments":  connectUnary(attachments.ListAttachments),
		"AttachmentService.DeleteAttachment": connectUnary(attachments.DeleteAttachment),
		"TodoService.ListTodos":              connectUnary(todos.ListTodos),
		"TodoTrackerService.ReplaceTodos":    connectUnary(tracker.ReplaceTodos),
		"TodoTrackerService.AddTodo":         connectUnary(tracker.AddTodo),
		"TodoTrackerService.UpdateTodo":      connectUnary(tracker.UpdateTodo),
		"TodoTrackerService.RemoveTodo":      connectUnary(tracker.RemoveTodo),
	}, nil
}

// http2Client returns a client that speaks HTTP/2 without TLS.
func http2Client() *http.Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: protocols}}
}

func connectUnary[I, O any, PI message[I], PO message[O]](
	call func(context.Context, *connect.Request[I]) (*connect.Response[O], error),
) method {
	return method{unary: func(ctx context.Context, text []byte) (proto.Message, *callError) {
		request := PI(new(I))
		exitOn(protojson.Unmarshal(text, request))
		answer, err := call(ctx, connect.NewRequest((*I)(request)))
		if err != nil {
			return nil, connectError(err)
		}
		return PO(answer.Msg), nil
	}}
}

func connectStream[I, O any, PI message[I], PO message[O]](
	call func(context.Context, *connect.Request[I]) (*connect.ServerStreamForClient[O], error),
) method {
	return method{stream: func(ctx context.Context, text []byte) (events, *callError) {
		request := PI(new(I))
		exitOn(protojson.Unmarshal(text, request))
		stream, err := call(ctx, connect.NewRequest((*I)(request)))
		if err != nil {
			return nil, connectError(err)
		}
		return func() (proto.Message, *callError) {
			if stream.Receive() {
				return PO(stream.Msg()), nil
			}
			if err := stream.Err(); err != nil {
				return nil, connectError(err)
			}
			return nil, nil
		}, nil
	}}
}

func connectUpload(
	attachments sessionpoolv1connect.AttachmentServiceClient,
) func(context.Context, [][]byte) (proto.Message, *callError) {
	return func(ctx context.Context, texts [][]byte) (proto.Message, *callError) {
		stream := attachments.UploadAttachment(ctx)
		for _, text := range texts {
			request := &pb.UploadAttachmentRequest{}
			exitOn(protojson.Unmarshal(text, request))
			// At EOF the server has answered before the end; CloseAndReceive says what.
			if err := stream.Send(request); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, connectError(err)
			}
		}
		answer, err := stream.CloseAndReceive()
		if err != nil {
			return nil, connectError(err)
		}
		return answer.Msg, nil
	}
}

func connectError(err error) *callError {
	var got *connect.Error
	if errors.As(err, &got) {
		return &callError{Code: int(got.Code()), Message: got.Message()}
	}
	return &callError{Code: -1, Message: fmt.Sprint(err)}
}
