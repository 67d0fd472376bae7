// HTTP by hand: what is asked is what goes out, and the answer's head is there before its body.
import http from 'node:http';
import { isObject, type JsonObject } from '../upstreams/message.ts';
import { within } from '../within.ts';
import { EventStream } from './event-stream.ts';

/** Undefined takes away a header that would be sent otherwise. */
export type RawHeaders = Readonly<Record<string, string | undefined>>;

export class RawResponse {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  /** Defined when the answer is an event stream. */
  readonly stream: EventStream | undefined;
  readonly #bytes: Promise<Buffer>;

  constructor(res: http.IncomingMessage) {
    this.status = res.statusCode ?? 0;
    this.headers = res.headers;
    const isStream = this.headers['content-type']?.startsWith('text/event-stream') === true;
    this.stream = isStream ? new EventStream(res) : undefined;
    this.#bytes = isStream ? Promise.resolve(Buffer.alloc(0)) : collect(res);
    // Whoever wants the body awaits it; whoever does not is not to be troubled by its breaking off.
    this.#bytes.catch(() => {});
  }

  bytes(): Promise<Buffer> {
    return within(this.#bytes, 'the body');
  }

  async text(): Promise<string> {
    return (await this.bytes()).toString('utf8');
  }

  /** The answer, as the JSON text that it came in. */
  async answerText(): Promise<string> {
    if (this.stream === undefined) return this.text();
    const { stream } = this;
    await stream.find((message) => message['method'] === undefined);
    return stream.events.find(({ data }) => data !== '' && isAnswer(data))?.data ?? '';
  }

  async answer(): Promise<JsonObject> {
    const value: unknown = JSON.parse(await this.answerText());
    if (!isObject(value)) throw new Error('The answer is no object');
    return value;
  }
}

const isAnswer = (data: string): boolean => (JSON.parse(data) as JsonObject)['method'] === undefined;

async function collect(res: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of res) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

export interface RawRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: RawHeaders;
  readonly body?: string | Buffer;
  readonly signal?: AbortSignal | undefined;
  readonly agent: http.Agent;
}

/** Resolves with the head of the response. Unbounded: a test may want to see that there is none. */
export function rawRequest({ url, method, headers, body, signal, agent }: RawRequest): Promise<RawResponse> {
  const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)) as Record<
    string,
    string
  >;
  return new Promise((resolve, reject) => {
    const req = http.request(
      url,
      { method, headers: sent, agent, ...(signal === undefined ? {} : { signal }) },
      (res) => resolve(new RawResponse(res)),
    );
    req.on('error', reject);
    // Node would write head and body as one UTF-8 text, and the head is not UTF-8.
    req.end(typeof body === 'string' ? Buffer.from(body) : body);
  });
}
