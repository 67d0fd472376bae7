// The last signed token of each principal, for servers whose credential is made from it (RFC 8693). It goes
// to that server's sign-in server and nowhere else.
import { LRUCache } from 'lru-cache';
import { Secret } from '../shared/secret.ts';

const MAX_LENGTH = 32 * 1024 * 1024;

interface Subject {
  readonly token: Secret;
  readonly length: number;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

export class SubjectTokens {
  readonly #byCaller = new LRUCache<string, Subject>({ maxSize: MAX_LENGTH, sizeCalculation: ({ length }) => length });

  /** `callerKey` names tenant and principal. */
  remember(callerKey: string, token: string, expiresAt: number): void {
    this.#byCaller.set(callerKey, { token: new Secret(token), length: token.length, expiresAt });
  }

  find(callerKey: string, now: number): Secret | undefined {
    const subject = this.#byCaller.get(callerKey);
    return subject !== undefined && now < subject.expiresAt ? subject.token : undefined;
  }
}
