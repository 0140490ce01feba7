package sessionpool.test;

import com.google.protobuf.Message;
import com.google.protobuf.MessageOrBuilder;
import com.google.protobuf.util.JsonFormat;
import io.grpc.Channel;
import io.grpc.Context;
import io.grpc.stub.BlockingClientCall;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import sessionpool.v1.Attachment;
import sessionpool.v1.AttachmentServiceGrpc;
import sessionpool.v1.GetAttachmentResponse;
import sessionpool.v1.MessageServiceGrpc;
import sessionpool.v1.SessionServiceGrpc;
import sessionpool.v1.TodoServiceGrpc;
import sessionpool.v1.TodoTrackerServiceGrpc;
import sessionpool.v1.UploadAttachmentRequest;

/** Calls the methods of the generated blocking stubs with requests and answers in JSON. */
final class Methods {
  private static final int TIMEOUT_SECONDS = 120;

  private final Map<String, Object> stubs;
  private final AttachmentServiceGrpc.AttachmentServiceBlockingV2Stub uploads;

  Methods(Channel channel) {
    stubs = Map.of(
        "SessionService", SessionServiceGrpc.newBlockingStub(channel),
        "MessageService", MessageServiceGrpc.newBlockingStub(channel),
        "AttachmentService", AttachmentServiceGrpc.newBlockingStub(channel),
        "TodoService", TodoServiceGrpc.newBlockingStub(channel),
        "TodoTrackerService", TodoTrackerServiceGrpc.newBlockingStub(channel));
    uploads = AttachmentServiceGrpc.newBlockingV2Stub(channel);
  }

  /** A stream that is canceled when it is closed. */
  record Stream(Iterator<String> events, Context.CancellableContext context) implements AutoCloseable {
    @Override
    public void close() {
      context.cancel(null);
    }
  }

  String call(String rpc, String request) throws Exception {
    Object answer = invoke(rpc, request);
    return toJson(answer instanceof Iterator<?> download ? whole(download) : (MessageOrBuilder) answer);
  }

  /** Sends the requests one after the other, until the server has answered. */
  String upload(List<String> requests) throws Exception {
    BlockingClientCall<UploadAttachmentRequest, Attachment> call =
        uploads.withDeadlineAfter(TIMEOUT_SECONDS, TimeUnit.SECONDS).uploadAttachment();
    boolean isOpen = true;
    for (Iterator<String> rest = requests.iterator(); isOpen && rest.hasNext();) {
      UploadAttachmentRequest.Builder request = UploadAttachmentRequest.newBuilder();
      JsonFormat.parser().merge(rest.next(), request);
      isOpen = call.write(request.build());
    }
    if (isOpen) call.halfClose();
    return toJson(call.read());
  }

  Stream stream(String rpc, String request) throws Exception {
    Context.CancellableContext context = Context.current().withCancellation();
    Callable<Object> begin = () -> invoke(rpc, request);
    Iterator<?> events = (Iterator<?>) context.call(begin);
    Iterator<String> texts = new Iterator<>() {
      @Override
      public boolean hasNext() {
        return events.hasNext();
      }

      @Override
      public String next() {
        return toJson((MessageOrBuilder) events.next());
      }
    };
    return new Stream(texts, context);
  }

  private Object invoke(String rpc, String request) throws Exception {
    String[] names = rpc.split("\\.");
    Object stub = withDeadline(stubs.get(names[0]));
    String name = names[1].substring(0, 1).toLowerCase() + names[1].substring(1);
    Method method = Arrays.stream(stub.getClass().getMethods()).filter(one -> one.getName().equals(name)).findFirst().orElseThrow();
    Message.Builder builder = (Message.Builder) method.getParameterTypes()[0].getMethod("newBuilder").invoke(null);
    JsonFormat.parser().merge(request, builder);
    try {
      return method.invoke(stub, builder.build());
    } catch (InvocationTargetException error) {
      throw (Exception) error.getCause();
    }
  }

  /** Returns the first answer of a download, with the bytes of all. */
  private static MessageOrBuilder whole(Iterator<?> download) {
    GetAttachmentResponse.Builder whole = ((GetAttachmentResponse) download.next()).toBuilder();
    download.forEachRemaining(next -> whole.setChunk(whole.getChunk().concat(((GetAttachmentResponse) next).getChunk())));
    return whole;
  }

  private static Object withDeadline(Object stub) throws Exception {
    return stub.getClass().getMethod("withDeadlineAfter", long.class, TimeUnit.class).invoke(stub, TIMEOUT_SECONDS, TimeUnit.SECONDS);
  }

  private static String toJson(MessageOrBuilder message) {
    try {
      return JsonFormat.printer().print(message);
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }
}
