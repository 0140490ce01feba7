import type { Rpc } from "./row.js";

interface RestCall {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: string;
  /** The field that is sent as the body, or `*` for all fields that are not in the path. */
  readonly body?: string;
  /** The field that is the whole body of the answer. */
  readonly responseBody?: string;
}

/** The REST paths. They repeat those of the .proto files, which the server reads, so that a change there is noticed. */
export const REST_PATHS: Readonly<Record<Rpc, RestCall>> = {
  "SessionService.CreateSession": { method: "POST", path: "/session", body: "*" },
  "SessionService.GetSession": { method: "GET", path: "/session/{sessionId}" },
  "SessionService.LoadSession": { method: "GET", path: "/session/{sessionId}/load" },
  "SessionService.ListSessions": { method: "GET", path: "/session" },
  "SessionService.UpdateSession": { method: "PATCH", path: "/session/{sessionId}", body: "*" },
  "SessionService.DeleteSession": { method: "DELETE", path: "/session/{sessionId}" },
  "SessionService.ForkSession": { method: "POST", path: "/session/{sessionId}/fork", body: "*" },
  "SessionService.ShareSession": { method: "POST", path: "/session/{sessionId}/share", body: "*" },
  "SessionService.RevertSession": { method: "POST", path: "/session/{sessionId}/revert", body: "*" },
  "SessionService.UnrevertSession": { method: "POST", path: "/session/{sessionId}/unrevert", body: "*" },
  "SessionService.CreateTicket": { method: "POST", path: "/session/{sessionId}/ticket", body: "*" },
  "SessionService.RevokeTickets": { method: "POST", path: "/session/{sessionId}/ticket:revoke", body: "*" },
  "SessionService.UndeleteSession": { method: "POST", path: "/session/{sessionId}/undelete", body: "*" },
  "MessageService.AppendMessage": { method: "POST", path: "/session/{sessionId}/message", body: "message" },
  "MessageService.AppendMessages": { method: "POST", path: "/session/{sessionId}/message:batch", body: "*" },
  "MessageService.GetMessage": { method: "GET", path: "/session/{sessionId}/message/{messageId}" },
  "MessageService.ListMessages": { method: "GET", path: "/session/{sessionId}/message" },
  "MessageService.SearchMessages": { method: "GET", path: "/search" },
  "MessageService.CountMessages": { method: "GET", path: "/session/{sessionId}/message:count" },
  "MessageService.CopyMessages": { method: "POST", path: "/session/{sessionId}/message:copy", body: "*" },
  "MessageService.TruncateMessages": { method: "POST", path: "/session/{sessionId}/message:truncate", body: "*" },
  "MessageService.UpdateMessage": {
    method: "PATCH",
    path: "/session/{sessionId}/message/{messageId}",
    body: "message",
  },
  "MessageService.DeleteMessage": { method: "DELETE", path: "/session/{sessionId}/message/{messageId}" },
  "MessageService.EraseMessage": {
    method: "POST",
    path: "/session/{sessionId}/message/{messageId}:erase",
    body: "*",
  },
  "SessionService.WatchSessions": { method: "GET", path: "/session:watch" },
  "MessageService.WatchMessages": { method: "GET", path: "/session/{sessionId}/message:watch" },
  "MessageService.StartDraft": { method: "POST", path: "/session/{sessionId}/draft", body: "*" },
  "MessageService.ExtendDraft": { method: "POST", path: "/session/{sessionId}/draft/{messageId}:extend", body: "*" },
  "MessageService.FinishDraft": { method: "POST", path: "/session/{sessionId}/draft/{messageId}:finish", body: "*" },
  "MessageService.DiscardDraft": { method: "DELETE", path: "/session/{sessionId}/draft/{messageId}" },
  "MessageService.ListDrafts": { method: "GET", path: "/session/{sessionId}/draft" },
  "AttachmentService.UploadAttachment": { method: "POST", path: "/session/{sessionId}/attachment", body: "chunk" },
  "AttachmentService.GetAttachment": {
    method: "GET",
    path: "/session/{sessionId}/attachment/{attachmentId}",
    responseBody: "chunk",
  },
  "AttachmentService.ListAttachments": { method: "GET", path: "/session/{sessionId}/attachment" },
  "AttachmentService.DeleteAttachment": {
    method: "DELETE",
    path: "/session/{sessionId}/attachment/{attachmentId}",
  },
  "UsageService.SumUsage": { method: "GET", path: "/usage" },
  "AnnotationService.CreateAnnotation": {
    method: "POST",
    path: "/session/{sessionId}/annotation",
    body: "annotation",
  },
  "AnnotationService.ListAnnotations": { method: "GET", path: "/session/{sessionId}/annotation" },
  "AnnotationService.UpdateAnnotation": {
    method: "PATCH",
    path: "/session/{sessionId}/annotation/{annotationId}",
    body: "annotation",
  },
  "AnnotationService.DeleteAnnotation": {
    method: "DELETE",
    path: "/session/{sessionId}/annotation/{annotationId}",
  },
  "TodoService.ListTodos": { method: "GET", path: "/{sessionId}/todo", responseBody: "todos" },
};
