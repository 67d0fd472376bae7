// Faults in HTTP's own words: pages instead of answers, statuses, refusals, an unasked encoding.
import type { OutgoingHttpHeaders } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { Fault, Strike } from './fault.ts';
import { resultText } from './message.ts';
import { plainAnswer } from './plain-answer.ts';
import { sendNothing, sendText } from './responses.ts';

const page =
  (status: number, text: string, headers: OutgoingHttpHeaders = {}): Fault =>
  ({ res }) =>
    sendText(res, status, text, { 'content-type': 'text/html', ...headers });

const refusal =
  (status: number, challenge?: string): Fault =>
  ({ res }) =>
    sendText(res, status, '{"error":"refused"}', challenge === undefined ? {} : { 'www-authenticate': challenge });

const gzip: Fault = ({ res, id, good }) => {
  res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
  res.end(gzipSync(resultText(id, good)));
};

/** Too busy once, then well. */
const busyOnce: Fault = (strike: Strike) => {
  if (strike.nth > 1) return plainAnswer(strike.state, strike);
  sendText(strike.res, 429, 'Too many requests', { 'content-type': 'text/plain', 'retry-after': '0' });
};

export const httpFaults = {
  html: { on: 'tools/call', fault: page(200, '<!doctype html><title>Sign in</title>') },
  'redirect-to-html': { on: 'tools/call', fault: page(302, '', { location: '/login' }) },
  'http-400-text': { on: 'server/discover', fault: page(400, 'bad request', { 'content-type': 'text/plain' }) },
  'http-404': { on: 'server/discover', fault: page(404, 'Not Found') },
  'http-405': { on: 'server/discover', fault: page(405, 'Method Not Allowed', { allow: 'GET' }) },
  'http-406': { on: 'server/discover', fault: page(406, 'Not Acceptable') },
  'http-500': { on: 'initialize', fault: page(500, 'Internal Server Error') },
  'http-503': { on: 'tools/call', fault: page(503, 'Service Unavailable', { 'retry-after': '1' }) },
  'http-429-once': { on: 'tools/call', fault: busyOnce },
  /** 202 belongs to notifications; a call never gets an answer after it. */
  'accepted-202': { on: 'tools/call', fault: ({ res }: Strike) => sendNothing(res, 202) },
  'empty-200': { on: 'tools/call', fault: ({ res }: Strike) => sendText(res, 200, '') },
  unauthorized: { on: 'anything', fault: refusal(401, 'Bearer error="invalid_token"') },
  forbidden: { on: 'tools/call', fault: refusal(403) },
  'insufficient-scope': {
    on: 'tools/call',
    fault: refusal(403, 'Bearer error="insufficient_scope", scope="read write"'),
  },
  /** Encoded although nobody said that it may be. */
  gzip: { on: 'tools/call', fault: gzip },
} as const;
