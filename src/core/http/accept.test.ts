import { describe, expect, it } from 'vitest';
import { prefers, quality } from './accept.ts';

/** HTTP libraries' default `Accept` headers, and headers that the libraries' users commonly copy. */
const libraries: [library: string, accept: string | undefined][] = [
  ['Go, OkHttp, C# HttpClient, Apache HttpClient, Rust reqwest without a type', undefined],
  ['curl, wget, python-requests, httpx, aiohttp, node fetch, undici, reqwest', '*/*'],
  ['axios, Angular, jQuery with dataType json', 'application/json, text/plain, */*'],
  ['AngularJS, older Angular', 'application/json,text/plain,*/*'],
  ['jQuery', 'application/json, text/javascript, */*; q=0.01'],
  ['Java HttpURLConnection', 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2'],
  ['Java HttpURLConnection since 20', 'text/html, image/gif, image/jpeg, */*; q=0.2'],
  ['Spring RestTemplate for text', 'text/plain, application/json, application/*+json, */*'],
  ['Spring RestTemplate for a string', 'text/plain, */*'],
  ['Feign, RestAssured', '*/*'],
  ['Retrofit with scalars', 'text/plain, application/json'],
  ['Ruby net/http', '*/*'],
  ['Ruby httparty, faraday variants', '*/*;q=0.8'],
  ['rest-client of Ruby', '*/*; q=0.5, application/xml'],
  ['PHP Guzzle, Symfony', '*/*'],
  ['superagent, got with json', 'application/json'],
  ['ky', 'application/json, */*'],
  ['PowerShell, .NET with a charset', 'application/json; charset=utf-8, text/plain; charset=utf-8'],
  ['ASP.NET generated clients', 'text/plain, application/json, text/json'],
  [
    'openapi-generator with the media types of this service',
    'application/json, text/plain, application/problem+json',
  ],
  ['openapi-generator in another order', 'text/plain, application/problem+json, application/json'],
  ['a type with a parameter', 'application/json;odata=verbose, text/plain'],
  ['Dart http, Swift URLSession', '*/*'],
  ['Elixir, HTTPoison', ''],
  ['MCP clients', 'application/json, text/event-stream'],
  ['event sources', 'text/event-stream'],
  [
    'Chrome',
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7',
  ],
  ['Firefox', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'],
  ['Safari', 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'],
  ['Internet Explorer', 'image/jpeg, application/x-ms-application, */*'],
  ['a wildcard of text beside any type', 'text/*, */*'],
  ['text that is rejected', 'text/plain;q=0, */*'],
  ['something else', 'image/png'],
  ['not a header', ',;=q"'],
];

describe('the Accept header', () => {
  it.each(libraries)('selects JSON for the Accept header %s', (_library, accept) => {
    expect(prefers(accept, 'text/plain', 'application/json')).toBe(false);
  });

  it.each([
    'text/plain',
    'TEXT/PLAIN',
    'text/plain; charset=utf-8',
    'text/plain;format=flowed;q=0.2',
    'text/*',
    'text/plain, */*;q=0.8',
    'text/plain, application/json;q=0.9',
    'application/json; q=0.1, text/plain; q="0.9"',
    'application/json;q=0, */*',
    'text/html, text/plain',
    'application/json;profile="a, text/plain";q=.5,\ttext/plain',
  ])('selects text for the Accept header %s', (accept) => {
    expect(prefers(accept, 'text/plain', 'application/json')).toBe(true);
  });

  it.each([
    ['*/*;q=0.2, text/*;q=0.5, text/plain;q=0.3', 'text/plain', 0.3],
    ['text/plain;q=0.3, text/*;q=0.5', 'text/html', 0.5],
    ['text/plain;version=1;q=0.3, text/plain;q=0.5', 'text/plain', 0.5],
    ['*;q=.2', 'application/json', 0.2],
    ['application/json;q=7', 'application/json', 1],
    ['application/json;q=x', 'application/json', 1],
    ['application/problem+json', 'application/json', 0],
    [
      'application/vnd.google.protobuf;proto=io;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5',
      'application/openmetrics-text',
      0.5,
    ],
  ])('reads the Accept header %s: the type %s has the quality %d', (accept, type, expected) => {
    expect(quality(accept, type)).toBe(expected);
  });

  it.each(['"', ',', ';', '; q=', '"\\', '\\"', ';a="'])(
    'ignores an Accept header that contains only %s',
    (part) => {
      expect(quality(part.repeat(4096), 'application/json')).toBe(0);
      expect(quality(`application/json${part.repeat(4096)}`, 'application/json')).toBeLessThanOrEqual(1);
    },
  );
});

it('ignores everything after the first 1,024 characters in an Accept header', () => {
  const long = `text/plain;q=0.1,${'a/b,'.repeat(300)}application/json`;
  expect([quality(long, 'text/plain'), quality(long, 'application/json')]).toStrictEqual([0.1, 0]);
});
