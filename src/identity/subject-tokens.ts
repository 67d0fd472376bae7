// The last signed token of each principal, for servers whose credential is made from it (RFC 8693). It goes
// to that server's sign-in server and nowhere else.
import { LRUCache } from 'lru-cache';
import type { TenantId } from '../shared/id.ts';
import { Secret } from '../shared/secret.ts';
import type { Caller } from './caller.ts';

const MAX_LENGTH = 32 * 1024 * 1024;

interface Subject {
  readonly tenantId: TenantId;
  readonly token: Secret;
  readonly length: number;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

export class SubjectTokens {
  readonly #byCaller = new LRUCache<string, Subject>({ maxSize: MAX_LENGTH, sizeCalculation: ({ length }) => length });

  remember({ tenantId, key }: Caller, token: string, expiresAt: number): void {
    this.#byCaller.set(key, { tenantId, token: new Secret(token), length: token.length, expiresAt });
  }

  /** It was checked again and is good no more; a newer one stays. */
  forget({ key }: Caller, token: string): void {
    if (this.#byCaller.peek(key)?.token.reveal() === token) this.#byCaller.delete(key);
  }

  /** The tenant's issuers changed: a token that still is good comes again with the next request. */
  forgetTenant(tenantId: TenantId): void {
    for (const [key, subject] of this.#byCaller.entries()) {
      if (subject.tenantId === tenantId) this.#byCaller.delete(key);
    }
  }

  find(callerKey: string, now: number): Secret | undefined {
    const subject = this.#byCaller.get(callerKey);
    return subject !== undefined && now < subject.expiresAt ? subject.token : undefined;
  }
}
