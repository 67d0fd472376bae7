// Asking for a sign-in with real parts: waits on a fake clock, a feed the test speaks on, a real vault.

import type { Credential } from '../../src/credential/credential.ts';
import type { Vault } from '../../src/credential/vault.ts';
import { createAskForCredential } from '../../src/proxy/ask-for-credential.ts';
import { createAskSignIn } from '../../src/proxy/ask-sign-in.ts';
import { createConnectTool } from '../../src/proxy/connect-tool.ts';
import type { Questions } from '../../src/proxy/operations.ts';
import { createRequestStates } from '../../src/proxy/request-state.ts';
import { createSignInWaits } from '../../src/proxy/wait-for-sign-in.ts';
import type { JsonObject } from '../../src/wire/reply.ts';
import { keyOf } from '../connection/support.ts';
import { aVault } from '../credential/in-memory.ts';
import { AChangeFeed } from '../support/a-change-feed.ts';
import { someLimits } from '../support/limits.ts';
import { type Heard, server, Upstream } from './support.ts';

export const LINK = 'http://127.0.0.1/connect/x';
export const WAIT_MS = 120_000;
export const SHOWS_LINKS: JsonObject = { elicitation: { url: {} } };

/** The agent's side of a legacy session: what it was asked, and a way to answer. */
export class AnAgent implements Questions {
  readonly #open = new Map<string, (result: JsonObject) => void>();
  #asked = 0;

  open(answered: (result: JsonObject) => void): string {
    const id = `"q${++this.#asked}"`;
    this.#open.set(id, answered);
    return id;
  }

  close(idText: string): boolean {
    return this.#open.delete(idText);
  }

  answers(result: JsonObject, idText = '"q1"'): void {
    const answered = this.#open.get(idText);
    this.#open.delete(idText);
    answered?.(result);
  }

  get waiting(): number {
    return this.#open.size;
  }
}

export function anAsking(upstream: Upstream = new Upstream(), vault: Vault = aVault()) {
  const changes = new AChangeFeed();
  const lacking: string[] = [];
  const { broker, clock } = upstream;
  const waits = createSignInWaits({
    broker,
    changes,
    limitsOf: () => someLimits({ maxWaitingCalls: 1_000 }),
    clock,
  });
  const askSignIn = createAskSignIn({
    broker,
    waits,
    states: createRequestStates(vault, clock),
    clock,
    waitMs: WAIT_MS,
  });
  const connect = createConnectTool({
    broker,
    askForCredential: createAskForCredential({
      broker,
      scopes: { add: (_key, _tool, scopes) => Promise.resolve(void lacking.push(...scopes)) },
      clock,
    }),
    askSignIn,
  });
  const timers = clock.pending;
  const about = { tenantId: server.tenantId, serverId: server.id, owner: 'p:anna' };
  return {
    upstream,
    changes,
    clock,
    waits,
    askSignIn,
    connect,
    /** Scopes that were noted down as missing. */
    lacking,
    timersLeft: () => clock.pending - timers,
    signIn(found: string | Credential = '1') {
      upstream.credential = typeof found === 'string' ? keyOf('anna', found) : found;
      changes.say({ kind: 'credentials', ...about });
    },
    deny: () => changes.say({ kind: 'sign_in_denied', ...about }),
  };
}

export const said = (heard: Heard): readonly JsonObject[] => heard.messages.map((raw) => JSON.parse(raw) as JsonObject);
