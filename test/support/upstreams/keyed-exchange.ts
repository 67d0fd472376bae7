// One request of a known principal, and its answer: JSON, or an event stream once anything else is said first.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { KeyedState } from './keyed-state.ts';
import { errorText, type Id, type JsonObject, type Message, notificationText, resultText } from './message.ts';
import { eventText, sendText, startEvents } from './responses.ts';
import type { Era } from './revisions.ts';

export interface Asked {
  readonly state: KeyedState;
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly principal: string;
  readonly message: Message;
  readonly id: Id;
  readonly era: Era;
  /** Session id; '-' where there is none. */
  readonly session: string;
}

/** What a server asks its client. */
export interface Question {
  readonly method: string;
  readonly params: JsonObject;
}

/** All that a legacy server may ask of the person, or of the model, behind the call of `who`; none of it for the log. */
export const questionsTo = (who: string): readonly Question[] => [
  {
    method: 'sampling/createMessage',
    params: { messages: [{ role: 'user', content: { type: 'text', text: `canary-asked ${who}` } }], maxTokens: 1 },
  },
  {
    method: 'elicitation/create',
    params: {
      message: `canary-asked ${who}`,
      requestedSchema: { type: 'object', properties: { [who]: { type: 'string' } } },
    },
  },
];

export class Exchange {
  readonly asked: Asked;
  /** Cancelled, or its caller is gone. */
  isStopped = false;
  #isStream = false;

  constructor(asked: Asked) {
    this.asked = asked;
  }

  notify(method: string, params: JsonObject): void {
    this.#stream();
    this.asked.res.write(eventText(notificationText(method, params)));
  }

  /** A request to whoever called; nobody here waits for its answer. */
  ask(id: string, { method, params }: Question): void {
    this.#stream();
    this.asked.res.write(eventText(JSON.stringify({ jsonrpc: '2.0', id, method, params })));
  }

  /** `json` is an object's text; a modern answer gets its result type put first, where it does not begin with one. */
  result(json: string): void {
    const { state, id, era } = this.asked;
    const members = json.slice(1);
    const isTyped = era === 'legacy' || json.startsWith('{"resultType":');
    const typed = isTyped ? json : `{"resultType":"complete"${members === '}' ? '' : ','}${members}`;
    this.#finish(resultText(id, typed, state.settings.idPosition), 200);
  }

  error(code: number, message: string, data?: unknown, status = 200): void {
    this.#finish(errorText(this.asked.id, code, message, data), status);
  }

  /** Runs `job` later unless the call has been cancelled or left by then. */
  later(ms: number, job: () => void): void {
    const { res } = this.asked;
    const timer = setTimeout(() => this.isStopped || job(), ms);
    res.once('close', () => clearTimeout(timer));
  }

  #finish(text: string, status: number): void {
    const { res, state } = this.asked;
    if (res.destroyed) return;
    if (status === 200 && state.settings.reply === 'sse') this.#stream();
    if (this.#isStream) res.end(eventText(text));
    else sendText(res, status, text);
  }

  #stream(): void {
    if (this.#isStream) return;
    this.#isStream = true;
    startEvents(this.asked.res);
  }
}
