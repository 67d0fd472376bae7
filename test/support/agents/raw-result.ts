// What a response says: a result, a JSON-RPC error, or an HTTP refusal.
import { isObject, type JsonObject, objectAt } from '../upstreams/message.ts';
import type { RawResponse } from './raw-http.ts';

export class RpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(error: JsonObject) {
    super(String(error['message']));
    this.code = Number(error['code']);
    this.data = error['data'];
  }
}

export class HttpError extends Error {
  readonly response: RawResponse;

  constructor(response: RawResponse) {
    super(`HTTP ${response.status}`);
    this.response = response;
  }
}

export async function resultOf(response: RawResponse): Promise<JsonObject> {
  const isMessage =
    response.stream !== undefined || response.headers['content-type']?.startsWith('application/json') === true;
  if (!isMessage) throw new HttpError(response);
  const answer = await response.answer();
  if (isObject(answer['error'])) throw new RpcError(answer['error']);
  if (answer['result'] === undefined) throw new HttpError(response);
  return objectAt(answer, 'result');
}
