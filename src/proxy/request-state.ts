// What a modern agent is given to bring back with its next try. It says nothing to the agent, opens on
// any node, and only for the very call it was made for: tenant, principal, agent, server, tool and arguments (T15).
import { createHash } from 'node:crypto';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import { requestStateContext, type SealContext } from '../credential/seal-context.ts';
import type { Vault } from '../credential/vault.ts';
import type { Caller } from '../identity/caller.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { isJsonObject, type JsonObject } from '../wire/reply.ts';

/** The call that a state belongs to. */
export interface StateOf {
  readonly caller: Caller;
  readonly server: UpstreamServer;
  /** The server's own name for the tool; undefined for the tool that connects. */
  readonly tool: string | undefined;
  readonly params: JsonObject;
}

export interface SignInState {
  readonly url: string;
  /** Of the link, epoch milliseconds. */
  readonly linkExpiresAt: number;
  /** The sign-in (`signInOf`) whose credential the server did not take. */
  readonly refused: string | undefined;
  /** What the call had brought of the server's own questions; it goes on with the call. */
  readonly resumes: Readonly<Record<string, unknown>>;
}

export interface RequestStates {
  /** Undefined when it would be too large to be carried to and fro. */
  seal(of: StateOf, state: SignInState): Promise<string | undefined>;
  /** Throws `invalid_request`, with the same words for whatever is wrong. */
  open(of: StateOf, text: string): Promise<SignInState>;
}

const PREFIX = 'kb1.';
const LIFE_MS = 10 * 60_000;
const MAX_BYTES = 64 * 1024;

/** Whether a `requestState` is one of ours; a server's own is none of our business. */
export const isOurState = (value: unknown): value is string => typeof value === 'string' && value.startsWith(PREFIX);

export function createRequestStates(vault: Pick<Vault, 'seal' | 'open'>, clock: Clock): RequestStates {
  return {
    async seal(of, state) {
      const plaintext = JSON.stringify({ ...state, expiresAt: clock.now() + LIFE_MS });
      const sealed = await vault.seal(of.caller.tenantId, contextOf(of), plaintext);
      const text = PREFIX + sealed.toString('base64url');
      return text.length > MAX_BYTES ? undefined : text;
    },

    async open(of, text) {
      const sealed = Buffer.from(text.slice(PREFIX.length), 'base64url');
      // Decoding forgives what it does not know; only what we wrote ourselves is taken.
      if (text.length > MAX_BYTES || PREFIX + sealed.toString('base64url') !== text) throw notOurs();
      const opened = await vault.open(of.caller.tenantId, contextOf(of), sealed).catch(cannotOpen);
      // What opens under this context was written by `seal`.
      const { expiresAt, ...state } = JSON.parse(opened.reveal()) as SignInState & { expiresAt: number };
      if (expiresAt <= clock.now()) throw notOurs();
      return state;
    },
  };
}

function contextOf({ caller, server, tool, params }: StateOf): SealContext {
  // The agent is part of what was called: another key of the same person is another agent.
  const call = [caller.agentId, ...(tool === undefined ? ['connect'] : ['call', tool])];
  return requestStateContext(server.id, caller.principalId, digestOf(params['arguments']), call);
}

/** The same for the same values, in whatever order an agent writes the members of an object. */
function digestOf(value: unknown): string {
  const text = JSON.stringify(value, (_, part: unknown) => (isJsonObject(part) ? sorted(part) : part)) ?? '';
  return createHash('sha256').update(text).digest('base64url');
}

const sorted = (object: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));

const notOurs = (cause?: unknown): ProxyError =>
  new ProxyError('invalid_request', 'This requestState is not valid for this call; call again without it.', {
    data: { reason: 'invalid_request_state' },
    cause,
  });

/** A database that does not answer says nothing about the state. */
function cannotOpen(error: unknown): never {
  throw error instanceof ProxyError && error.code === 'internal' ? notOurs(error) : error;
}
