using System;
using System.Collections.Generic;
using System.IO;
using System.Net.Http;
using System.Net.Http.Headers;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

/// <summary>
/// Executes tool_use blocks of the memory tool on a memory service. In an agent, keep this class and call
/// ExecuteAsync from your loop.
/// </summary>
public sealed class MemoryExecutor
{
    private static readonly TimeSpan CallTimeout = TimeSpan.FromSeconds(30); // including all retries
    private static readonly TimeSpan AttemptTimeout = TimeSpan.FromSeconds(10);
    private const int MaxRetries = 8;
    private static readonly HashSet<int> Retryable = new HashSet<int> { 429, 502, 503, 504 };

    // A redirect would send the memory's contents to an unknown address.
    private readonly HttpClient http = new HttpClient(new HttpClientHandler { AllowAutoRedirect = false })
    {
        Timeout = Timeout.InfiniteTimeSpan,
    };
    private readonly Random random = new Random();
    private readonly string url;
    private readonly string apiKey;
    private readonly string tenant;

    /// <summary>A null key or tenant omits its header.</summary>
    public MemoryExecutor(string url, string apiKey, string tenant)
    {
        this.url = url.TrimEnd('/') + "/execute";
        this.apiKey = apiKey;
        this.tenant = tenant;
    }

    /// <summary>
    /// Sends blocks until the service returns a result. The ID of a block is its idempotency key, so a write that is
    /// sent again unchanged is applied once.
    /// </summary>
    public async Task<string> ExecuteAsync(string blocks)
    {
        using (var call = new CancellationTokenSource(CallTimeout))
        {
            for (var retries = 0; ; retries++)
            {
                var wait = TimeSpan.Zero;
                Exception failure;
                try
                {
                    using (var response = await AttemptAsync(blocks, call.Token))
                    {
                        var body = await response.Content.ReadAsStringAsync();
                        var status = (int)response.StatusCode;
                        if (status == 200) return body;
                        failure = new IOException("The memory service answered " + status + ": " + body);
                        if (!Retryable.Contains(status)) throw failure;
                        wait = response.Headers.RetryAfter?.Delta ?? TimeSpan.Zero;
                    }
                }
                catch (HttpRequestException error)
                {
                    failure = error;
                }
                catch (OperationCanceledException error)
                {
                    failure = new IOException("The memory service gave no answer in time.", error);
                }
                if (retries == MaxRetries || call.IsCancellationRequested) throw failure;
                // Exponential backoff with full jitter, added to Retry-After.
                var backoff = random.NextDouble() * Math.Min(200 << retries, 5000);
                try
                {
                    await Task.Delay(wait + TimeSpan.FromMilliseconds(backoff), call.Token);
                }
                catch (OperationCanceledException)
                {
                    throw failure;
                }
            }
        }
    }

    private async Task<HttpResponseMessage> AttemptAsync(string blocks, CancellationToken call)
    {
        using (var attempt = CancellationTokenSource.CreateLinkedTokenSource(call))
        using (var request = new HttpRequestMessage(HttpMethod.Post, url))
        {
            attempt.CancelAfter(AttemptTimeout);
            request.Content = new StringContent(blocks, Encoding.UTF8, "application/json");
            if (apiKey != null) request.Headers.Authorization = new AuthenticationHeaderValue("Bearer", apiKey);
            if (tenant != null) request.Headers.Add("X-Tenant-Id", tenant);
            return await http.SendAsync(request, attempt.Token);
        }
    }
}

/// <summary>
/// Reads one block or array of blocks per line, and prints the tool_result for the next message:
/// dotnet run &lt; blocks.jsonl
/// </summary>
public static class Program
{
    public static int Main()
    {
        return RunAsync().GetAwaiter().GetResult();
    }

    private static async Task<int> RunAsync()
    {
        var memory = new MemoryExecutor(
            Variable("MEMORY_SERVICE_URL") ?? "http://localhost:8080",
            Variable("MEMORY_SERVICE_API_KEY"),
            Variable("MEMORY_SERVICE_TENANT"));
        var utf8 = new UTF8Encoding(false);
        using (var lines = new StreamReader(Console.OpenStandardInput(), utf8))
        using (var output = new StreamWriter(Console.OpenStandardOutput(), utf8) { AutoFlush = true })
        {
            for (var line = await lines.ReadLineAsync(); line != null; line = await lines.ReadLineAsync())
            {
                if (line.Trim() == "") continue;
                try
                {
                    await output.WriteLineAsync(await memory.ExecuteAsync(line));
                }
                catch (Exception error) when (error is IOException || error is HttpRequestException)
                {
                    Console.Error.WriteLine(error.Message);
                    return 1;
                }
            }
        }
        return 0;
    }

    private static string Variable(string name)
    {
        var value = Environment.GetEnvironmentVariable(name);
        return string.IsNullOrEmpty(value) ? null : value;
    }
}
