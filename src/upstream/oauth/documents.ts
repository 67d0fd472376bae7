// Reads the documents of one discovery. All of them together have a budget: documents name documents, and
// a hostile one would have us ask addresses for ever (T8).
import { OAuthUnavailable } from '../../credential/authorization-server.ts';
import { ProxyError } from '../../shared/errors.ts';
import { isJsonObject, type JsonObject } from '../../wire/reply.ts';
import type { OAuthAnswer, OAuthFetch, OAuthRequest } from './oauth-fetch.ts';

const MAX_FETCHES = 8;
/** Says that the document may be there a moment later; 500 is what careless servers say of unknown paths. */
const PASSING = new Set([429, 502, 503, 504]);

export type Reading =
  | { readonly kind: 'document'; readonly json: JsonObject }
  /** `why` is short and safe to show. */
  | { readonly kind: 'missing' | 'unavailable'; readonly why: string; readonly cause?: unknown };

export type ReadDocument = (url: string) => Promise<Reading>;

class BudgetSpentError extends ProxyError {
  constructor() {
    super(
      'upstream_protocol',
      'Finding out how to sign in there takes more requests than are made. An admin can set "issuer" in credential.oauth.',
    );
    this.name = 'BudgetSpentError';
  }
}

/** Passes requests on until the budget is spent; then ProxyError. */
export function withBudget(fetch: OAuthFetch): OAuthFetch {
  let left = MAX_FETCHES;
  return async (request: OAuthRequest): Promise<OAuthAnswer> => {
    if (left-- <= 0) throw new BudgetSpentError();
    return fetch(request);
  };
}

export function createDocumentReader(fetch: OAuthFetch, signal: AbortSignal): ReadDocument {
  return async (url) => {
    try {
      return judge(await fetch({ url, method: 'GET', headers: { accept: 'application/json' }, signal }));
    } catch (error) {
      if (signal.aborted) throw error;
      if (error instanceof OAuthUnavailable) return { kind: 'unavailable', why: 'no answer', cause: error.cause };
      if (error instanceof ProxyError && !(error instanceof BudgetSpentError))
        return { kind: 'missing', why: 'an address that may not be asked' };
      throw error;
    }
  };
}

function judge({ status, body }: OAuthAnswer): Reading {
  if (status >= 300 && status < 400) return { kind: 'missing', why: 'a redirect, which is not followed' };
  if (status !== 200) return { kind: PASSING.has(status) ? 'unavailable' : 'missing', why: `HTTP ${status}` };
  const json = readJsonObject(body);
  return json === undefined ? { kind: 'missing', why: 'no JSON object' } : { kind: 'document', json };
}

/** Undefined for every other text. */
export function readJsonObject(text: string): JsonObject | undefined {
  try {
    const json = JSON.parse(text) as unknown;
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined; // the parser's own error quotes the text
  }
}

/** The texts of a list; undefined when there is no list. */
export function readTexts(value: unknown): readonly string[] | undefined {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string').slice(0, 100) : undefined;
}

export const readText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** For the admin: `/.well-known/… (HTTP 404)`. Without the query, which may be a secret. */
export function showAsked(address: string, why: string): string {
  return `${new URL(address).pathname.slice(0, 120)} (${why})`;
}
