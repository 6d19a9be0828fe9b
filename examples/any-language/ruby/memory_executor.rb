# frozen_string_literal: true

# Executes tool_use blocks of the memory tool on a memory service. The program reads one block or array of blocks per
# line, and prints the tool_result for the next message. In an agent, keep the class and call `execute` from your loop.
# For Ruby 3.0 and newer:
#
#   ruby memory_executor.rb < blocks.jsonl

require 'net/http'
require 'openssl'
require 'uri'

class MemoryExecutor
  class Error < StandardError; end

  CALL_TIMEOUT = 30 # seconds, including all retries
  ATTEMPT_TIMEOUT = 10
  MAX_RETRIES = 8
  RETRYABLE = [429, 502, 503, 504].freeze
  NETWORK_ERRORS = [SystemCallError, SocketError, IOError, OpenSSL::SSL::SSLError, Net::ProtocolError,
                    Net::HTTPBadResponse, Timeout::Error].freeze

  def initialize(url, api_key: nil, tenant: nil)
    @uri = URI("#{url.sub(%r{/+\z}, '')}/execute")
    @headers = { 'Content-Type' => 'application/json' }
    @headers['Authorization'] = "Bearer #{api_key}" if api_key
    @headers['X-Tenant-Id'] = tenant if tenant
  end

  # Sends blocks as JSON until the service returns a result. The ID of a block is its idempotency key, so a write that
  # is sent again unchanged is applied once.
  def execute(blocks)
    deadline = now + CALL_TIMEOUT
    (0..).each do |retries|
      wait = 0
      begin
        response = attempt(blocks, deadline)
        status = response.code.to_i
        return response.body if status == 200

        failure = Error.new("The memory service answered #{status}: #{response.body}")
        raise failure unless RETRYABLE.include?(status)

        wait = response['Retry-After'].to_i
      rescue *NETWORK_ERRORS => e
        failure = Error.new("The memory service at #{@uri.origin} cannot be reached: #{e.class}")
      end
      # Exponential backoff with full jitter, added to Retry-After.
      wait += rand * [0.2 * (2**retries), 5].min
      raise failure if retries == MAX_RETRIES || now + wait > deadline

      sleep(wait)
    end
  end

  private

  def attempt(blocks, deadline)
    seconds = [ATTEMPT_TIMEOUT, deadline - now].min
    http = Net::HTTP.new(@uri.host, @uri.port)
    http.use_ssl = @uri.scheme == 'https'
    http.max_retries = 0 # because retries of Net::HTTP ignore the deadline
    http.open_timeout = http.read_timeout = http.write_timeout = seconds
    http.start { http.post(@uri.path, blocks, @headers) }
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

if $PROGRAM_NAME == __FILE__
  memory = MemoryExecutor.new(
    ENV.fetch('MEMORY_SERVICE_URL', 'http://localhost:8080'),
    api_key: ENV.fetch('MEMORY_SERVICE_API_KEY', nil),
    tenant: ENV.fetch('MEMORY_SERVICE_TENANT', nil)
  )
  $stdout.sync = true
  begin
    $stdin.each_line(chomp: true) { |line| puts memory.execute(line) unless line.strip.empty? }
  rescue MemoryExecutor::Error => e
    abort e.message
  end
end
