package sessionpool.test;

import com.google.gson.Gson;
import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Status;
import io.grpc.StatusException;
import io.grpc.StatusRuntimeException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** Runs the scenario file with grpc-java, and prints one line of JSON for each step. */
public final class Scenario {
  private static final String ANY = "$any";

  private final Methods methods;
  private final Map<String, JsonElement> saved = new HashMap<>();

  private Scenario(Methods methods) {
    this.methods = methods;
  }

  public static void main(String[] args) throws Exception {
    JsonObject file = JsonParser.parseString(Files.readString(Path.of(args[0]))).getAsJsonObject();
    ManagedChannel channel = ManagedChannelBuilder.forTarget(args[1]).usePlaintext().build();
    try {
      new Scenario(new Methods(channel)).runAll(file.getAsJsonArray("steps"));
    } finally {
      channel.shutdownNow();
    }
  }

  private void runAll(JsonArray steps) {
    for (JsonElement one : steps) {
      JsonObject step = one.getAsJsonObject();
      JsonObject report = new JsonObject();
      report.add("step", step.get("step"));
      try {
        run(step);
        report.addProperty("ok", true);
      } catch (Exception error) {
        report.addProperty("ok", false);
        report.addProperty("why", error.toString());
      }
      System.out.println(new Gson().toJson(report));
    }
  }

  private void run(JsonObject step) throws Exception {
    String rpc = step.get("rpc").getAsString();
    JsonElement request = fill(step.has("request") ? step.get("request") : new JsonObject());
    List<String> requests = new ArrayList<>();
    if (step.has("requests")) step.getAsJsonArray("requests").forEach(one -> requests.add(fill(one).toString()));
    try {
      if (step.has("events")) {
        follow(step, methods.stream(rpc, request.toString()));
      } else {
        String text = step.has("requests") ? methods.upload(requests) : methods.call(rpc, request.toString());
        JsonElement answer = JsonParser.parseString(text);
        require(!step.has("error"), "the call succeeded with " + answer);
        expect("answer", step.has("answer") ? step.get("answer") : new JsonObject(), answer);
        save(step, answer);
      }
    } catch (StatusException | StatusRuntimeException error) {
      Status status = Status.fromThrowable(error);
      JsonObject got = new JsonObject();
      got.addProperty("code", status.getCode().value());
      got.addProperty("message", status.getDescription());
      require(step.has("error"), "error " + got);
      expect("error", step.get("error"), got);
    }
  }

  private void follow(JsonObject step, Methods.Stream stream) throws Exception {
    try (stream) {
      expectEvents(step.getAsJsonArray("events"), stream.events());
      if (step.has("then")) runAll(step.getAsJsonArray("then"));
      if (step.has("moreEvents")) expectEvents(step.getAsJsonArray("moreEvents"), stream.events());
      require(!step.has("error"), "the stream did not end with the expected error");
    }
  }

  private void expectEvents(JsonArray expected, Iterator<String> events) {
    for (int number = 0; number < expected.size(); number++) {
      JsonObject event = JsonParser.parseString(events.next()).getAsJsonObject();
      while (event.has("heartbeat")) event = JsonParser.parseString(events.next()).getAsJsonObject();
      expect("event " + number, expected.get(number), event);
    }
  }

  private void save(JsonObject step, JsonElement answer) {
    if (!step.has("save")) return;
    step.getAsJsonObject("save").entrySet().forEach(one -> saved.put(one.getKey(), pick(answer, one.getValue().getAsString())));
  }

  private void expect(String place, JsonElement unfilled, JsonElement got) {
    JsonElement expected = fill(unfilled);
    if (expected.isJsonNull()) {
      require(got == null || got.isJsonNull(), place + " is " + got + ", not absent");
    } else if (expected.isJsonObject()) {
      require(got != null && got.isJsonObject(), place + " is " + got + ", not an object");
      expected.getAsJsonObject().entrySet()
          .forEach(one -> expect(place + "." + one.getKey(), one.getValue(), got.getAsJsonObject().get(one.getKey())));
    } else if (expected.isJsonArray()) {
      int size = expected.getAsJsonArray().size();
      require(got != null && got.isJsonArray() && got.getAsJsonArray().size() == size, place + " is " + got + ", not " + size + " items");
      for (int i = 0; i < size; i++) {
        expect(place + "[" + i + "]", expected.getAsJsonArray().get(i), got.getAsJsonArray().get(i));
      }
    } else if (expected.equals(new JsonPrimitive(ANY))) {
      require(got != null && !got.equals(new JsonPrimitive("")), place + " is absent");
    } else {
      require(expected.equals(got), place + " is " + got + ", not " + expected);
    }
  }

  /** Replaces the names of saved values with the values that earlier steps saved. */
  private JsonElement fill(JsonElement value) {
    if (value.isJsonObject() && value.getAsJsonObject().has("$bytes")) {
      JsonArray range = value.getAsJsonObject().getAsJsonArray("$bytes");
      byte[] bytes = new byte[range.get(1).getAsInt() - range.get(0).getAsInt()];
      for (int i = 0; i < bytes.length; i++) bytes[i] = (byte) ((range.get(0).getAsInt() + i) % 251);
      return new JsonPrimitive(Base64.getEncoder().encodeToString(bytes));
    }
    if (value.isJsonObject()) {
      JsonObject filled = new JsonObject();
      value.getAsJsonObject().entrySet().forEach(one -> filled.add(one.getKey(), fill(one.getValue())));
      return filled;
    }
    if (value.isJsonArray()) {
      JsonArray filled = new JsonArray();
      value.getAsJsonArray().forEach(one -> filled.add(fill(one)));
      return filled;
    }
    boolean isText = value.isJsonPrimitive() && value.getAsJsonPrimitive().isString();
    if (!isText || !value.getAsString().startsWith("$")) return value;
    return saved.getOrDefault(value.getAsString().substring(1), value);
  }

  private static JsonElement pick(JsonElement value, String path) {
    for (String key : path.split("\\.")) {
      value = value.isJsonArray() ? value.getAsJsonArray().get(Integer.parseInt(key)) : value.getAsJsonObject().get(key);
    }
    return value;
  }

  private static void require(boolean condition, String why) {
    if (!condition) throw new IllegalStateException(why);
  }
}
