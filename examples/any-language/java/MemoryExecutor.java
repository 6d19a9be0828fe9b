import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Executes tool_use blocks of the memory tool on a memory service. The program reads one block or array of blocks per
 * line, and prints the tool_result for the next message. In an agent, keep this class without main, and call execute
 * from your loop. For Java 11 and newer:
 *
 * <pre>java MemoryExecutor.java < blocks.jsonl</pre>
 */
public final class MemoryExecutor {
  private static final Duration CALL_TIMEOUT = Duration.ofSeconds(30); // including all retries
  private static final Duration ATTEMPT_TIMEOUT = Duration.ofSeconds(10);
  private static final int MAX_RETRIES = 8;
  private static final Set<Integer> RETRYABLE = Set.of(429, 502, 503, 504);

  // The default client follows no redirects. A redirect would send the memory's contents to an unknown address.
  private final HttpClient http = HttpClient.newHttpClient();
  private final URI url;
  private final String apiKey;
  private final String tenant;

  /** A null apiKey or tenant omits its header. */
  public MemoryExecutor(String url, String apiKey, String tenant) {
    this.url = URI.create(url.replaceAll("/+$", "") + "/execute");
    this.apiKey = apiKey;
    this.tenant = tenant;
  }

  /**
   * Sends blocks until the service returns a result. The ID of a block is its idempotency key, so a write that is sent
   * again unchanged is applied once.
   */
  public String execute(String blocks) throws IOException, InterruptedException {
    long end = System.nanoTime() + CALL_TIMEOUT.toNanos();
    for (int retries = 0; ; retries++) {
      long waitMs = 0;
      IOException failure;
      try {
        HttpResponse<String> response = send(blocks, end);
        if (response.statusCode() == 200) return response.body();
        failure = new IOException("The memory service answered " + response.statusCode() + ": " + response.body());
        if (!RETRYABLE.contains(response.statusCode())) throw new RejectedException(failure.getMessage());
        waitMs = retryAfterMs(response);
      } catch (RejectedException e) {
        throw e;
      } catch (IOException e) {
        failure = e;
      }
      // Exponential backoff with full jitter, added to Retry-After.
      waitMs += ThreadLocalRandom.current().nextLong(Math.min(200L << retries, 5000));
      if (retries == MAX_RETRIES || System.nanoTime() + waitMs * 1_000_000 > end) throw failure;
      Thread.sleep(waitMs);
    }
  }

  private HttpResponse<String> send(String blocks, long end) throws IOException, InterruptedException {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(url)
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(blocks));
    if (apiKey != null) request.header("Authorization", "Bearer " + apiKey);
    if (tenant != null) request.header("X-Tenant-Id", tenant);
    // The timeout of an HttpRequest covers only the headers of the response, so the future has a timeout.
    CompletableFuture<HttpResponse<String>> response =
        http.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString());
    try {
      return response.get(Math.min(end - System.nanoTime(), ATTEMPT_TIMEOUT.toNanos()), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      throw new IOException("The memory service cannot be reached: " + e.getCause(), e);
    } catch (TimeoutException e) {
      response.cancel(true);
      throw new IOException("The memory service gave no answer in time.", e);
    }
  }

  private static long retryAfterMs(HttpResponse<?> response) {
    String given = response.headers().firstValue("Retry-After").orElse("");
    return given.matches("\\d{1,6}") ? Long.parseLong(given) * 1000 : 0;
  }

  /** A response that a retry would not change. */
  private static final class RejectedException extends IOException {
    RejectedException(String message) {
      super(message);
    }
  }

  public static void main(String[] args) throws IOException, InterruptedException {
    Map<String, String> env = System.getenv();
    MemoryExecutor memory =
        new MemoryExecutor(
            env.getOrDefault("MEMORY_SERVICE_URL", "http://localhost:8080"),
            env.get("MEMORY_SERVICE_API_KEY"),
            env.get("MEMORY_SERVICE_TENANT"));
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      if (line.isBlank()) continue;
      try {
        out.println(memory.execute(line));
      } catch (IOException e) {
        System.err.println(e.getMessage());
        System.exit(1);
      }
    }
  }
}
