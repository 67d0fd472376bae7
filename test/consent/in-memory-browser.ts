// In-memory fillings of the ports for browsers, with the same promises as the tables.

import type { BrowserSession, BrowserSessionStore } from '../../src/identity/browser-session-store.ts';
import type {
  BrowserSignIn,
  BrowserSignInStore,
  HandoffConfirmation,
} from '../../src/identity/browser-sign-in-store.ts';
import type { TicketMismatchStore } from '../../src/identity/ticket-mismatch-store.ts';
import type { TenantId } from '../../src/shared/id.ts';

export class InMemorySessions implements BrowserSessionStore {
  rows: BrowserSession[] = [];

  async create(session: BrowserSession): Promise<void> {
    this.rows.push(session);
  }

  async find(hash: Buffer, now: number): Promise<BrowserSession | undefined> {
    return this.rows.find((row) => row.hash.equals(hash) && row.expiresAt > now);
  }

  async remove(hash: Buffer): Promise<void> {
    this.rows = this.rows.filter((row) => !row.hash.equals(hash));
  }
}

interface SignInRow extends BrowserSignIn {
  readonly isUsed: boolean;
  readonly codeHash?: Buffer;
  readonly codeExpiresAt?: number;
}

export class InMemorySignIns implements BrowserSignInStore {
  rows: SignInRow[] = [];

  async create(signIn: Omit<BrowserSignIn, 'principalId'>): Promise<void> {
    this.rows.push({ ...signIn, principalId: undefined, isUsed: false });
  }

  async find(id: string, now: number): Promise<BrowserSignIn | undefined> {
    return this.rows.find((row) => row.id === id && row.expiresAt > now);
  }

  async findByState(tenantId: TenantId, stateHash: Buffer, now: number): Promise<BrowserSignIn | undefined> {
    return this.rows.find(
      (row) => row.tenantId === tenantId && row.stateHash?.equals(stateHash) === true && row.expiresAt > now,
    );
  }

  async findByCode(codeHash: Buffer, now: number): Promise<BrowserSignIn | undefined> {
    return this.rows.find((row) => row.codeHash?.equals(codeHash) === true && (row.codeExpiresAt ?? 0) > now);
  }

  async confirm(
    tenantId: TenantId,
    id: string,
    { principalId, codeHash, codeExpiresAt }: HandoffConfirmation,
    now: number,
  ): Promise<boolean> {
    return this.#change(
      (row) =>
        row.tenantId === tenantId &&
        row.id === id &&
        !row.isUsed &&
        row.expiresAt > now &&
        (row.principalId ?? principalId) === principalId,
      { principalId, codeHash, codeExpiresAt },
    );
  }

  async take(tenantId: TenantId, id: string, now: number): Promise<boolean> {
    return this.#change((row) => row.tenantId === tenantId && row.id === id && !row.isUsed && row.expiresAt > now, {
      isUsed: true,
    });
  }

  #change(which: (row: SignInRow) => boolean, change: Partial<SignInRow>): boolean {
    const found = this.rows.find(which);
    if (found === undefined) return false;
    this.rows = this.rows.map((row) => (row === found ? { ...row, ...change } : row));
    return true;
  }
}

export class InMemoryMismatches implements TicketMismatchStore {
  readonly #times = new Map<string, number>();

  async count(tenantId: TenantId, ticketHash: Buffer): Promise<number> {
    const key = `${tenantId} ${ticketHash.toString('hex')}`;
    const times = (this.#times.get(key) ?? 0) + 1;
    this.#times.set(key, times);
    return times;
  }
}
