// The few ways in which a server of these fixtures writes an HTTP response.
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

export function sendText(res: ServerResponse, status: number, text: string, headers: OutgoingHttpHeaders = {}): void {
  const bytes = Buffer.from(text);
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length, ...headers });
  res.end(bytes);
}

export function sendNothing(res: ServerResponse, status: number, headers: OutgoingHttpHeaders = {}): void {
  res.writeHead(status, headers);
  res.end();
}

export function startEvents(res: ServerResponse): void {
  res.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache, no-transform',
    'x-accel-buffering': 'no',
  });
  res.flushHeaders();
}

export const eventText = (data: string): string => `event: message\ndata: ${data}\n\n`;
