package main

import (
	"context"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "sessionpool.test/interop/gen/sessionpool/v1"
)

func grpcMethods(address string) (map[string]method, error) {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	sessions := pb.NewSessionServiceClient(connection)
	messages := pb.NewMessageServiceClient(connection)
	attachments := pb.NewAttachmentServiceClient(connection)
	todos := pb.NewTodoServiceClient(connection)
	tracker := pb.NewTodoTrackerServiceClient(connection)
	return map[string]method{
		"SessionService.CreateSession":       grpcUnary(sessions.CreateSession),
		"SessionService.GetSession":          grpcUnary(sessions.GetSession),
		"SessionService.LoadSession":         grpcUnary(sessions.LoadSession),
		"SessionService.ListSessions":        grpcUnary(sessions.ListSessions),
		"SessionService.UpdateSession":       grpcUnary(sessions.UpdateSession),
		"SessionService.DeleteSession":       grpcUnary(sessions.DeleteSession),
		"SessionService.ForkSession":         grpcUnary(sessions.ForkSession),
		"SessionService.ShareSession":        grpcUnary(sessions.ShareSession),
		"SessionService.RevertSession":       grpcUnary(sessions.RevertSession),
		"SessionService.UnrevertSession":     grpcUnary(sessions.UnrevertSession),
		"MessageService.AppendMessage":       grpcUnary(messages.AppendMessage),
		"MessageService.AppendMessages":      grpcUnary(messages.AppendMessages),
		"MessageService.GetMessage":          grpcUnary(messages.GetMessage),
		"MessageService.ListMessages":        grpcUnary(messages.ListMessages),
		"MessageService.CountMessages":       grpcUnary(messages.CountMessages),
		"MessageService.CopyMessages":        grpcUnary(messages.CopyMessages),
		"MessageService.TruncateMessages":    grpcUnary(messages.TruncateMessages),
		"MessageService.UpdateMessage":       grpcUnary(messages.UpdateMessage),
		"MessageService.DeleteMessage":       grpcUnary(messages.DeleteMessage),
		"MessageService.EraseMessage":        grpcUnary(messages.EraseMessage),
		"MessageService.StartDraft":          grpcUnary(messages.StartDraft),
		"MessageService.ExtendDraft":         grpcUnary(messages.ExtendDraft),
		"MessageService.FinishDraft":         grpcUnary(messages.FinishDraft),
		"MessageService.DiscardDraft":        grpcUnary(messages.DiscardDraft),
		"MessageService.ListDrafts":          grpcUnary(messages.ListDrafts),
		"MessageService.WatchMessages":       grpcStream(messages.WatchMessages),
		"AttachmentService.UploadAttachment": {upload: grpcUpload(attachments)},
		"AttachmentService.GetAttachment":    grpcStream(attachments.GetAttachment),
		"AttachmentService.ListAttachments":  grpcUnary(attachments.ListAttachments),
		"AttachmentService.DeleteAttachment": grpcUnary(attachments.DeleteAttachment),
		"TodoService.ListTodos":              grpcUnary(todos.ListTodos),
		"TodoTrackerService.ReplaceTodos":    grpcUnary(tracker.ReplaceTodos),
		"TodoTrackerService.AddTodo":         grpcUnary(tracker.AddTodo),
		"TodoTrackerService.UpdateTodo":      grpcUnary(tracker.UpdateTodo),
		"TodoTrackerService.RemoveTodo":      grpcUnary(tracker.RemoveTodo),
	}, nil
}

// message is implemented by pointers to generated structs.
type message[T any] interface {
	*T
	proto.Message
}

func grpcUnary[I, O any, PI message[I], PO message[O]](
	call func(context.Context, PI, ...grpc.CallOption) (PO, error),
) method {
	return method{unary: func(ctx context.Context, text []byte) (proto.Message, *callError) {
		request := PI(new(I))
		exitOn(protojson.Unmarshal(text, request))
		answer, err := call(ctx, request)
		if err != nil {
			return nil, grpcError(err)
		}
		return answer, nil
	}}
}

func grpcStream[I, O any, PI message[I], PO message[O]](
	call func(context.Context, PI, ...grpc.CallOption) (grpc.ServerStreamingClient[O], error),
) method {
	return method{stream: func(ctx context.Context, text []byte) (events, *callError) {
		request := PI(new(I))
		exitOn(protojson.Unmarshal(text, request))
		stream, err := call(ctx, request)
		if err != nil {
			return nil, grpcError(err)
		}
		return func() (proto.Message, *callError) {
			event, err := stream.Recv()
			if err == io.EOF {
				return nil, nil
			}
			if err != nil {
				return nil, grpcError(err)
			}
			return PO(event), nil
		}, nil
	}}
}

func grpcUpload(attachments pb.AttachmentServiceClient) func(context.Context, [][]byte) (proto.Message, *callError) {
	return func(ctx context.Context, texts [][]byte) (proto.Message, *callError) {
		stream, err := attachments.UploadAttachment(ctx)
		if err != nil {
			return nil, grpcError(err)
		}
		for _, text := range texts {
			request := &pb.UploadAttachmentRequest{}
			exitOn(protojson.Unmarshal(text, request))
			// At EOF the server has answered before the end; CloseAndRecv says what.
			if err := stream.Send(request); err == io.EOF {
				break
			} else if err != nil {
				return nil, grpcError(err)
			}
		}
		answer, err := stream.CloseAndRecv()
		if err != nil {
			return nil, grpcError(err)
		}
		return answer, nil
	}
}

func grpcError(err error) *callError {
	got := status.Convert(err)
	return &callError{Code: int(got.Code()), Message: got.Message()}
}
