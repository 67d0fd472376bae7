// Remembers what was found about a token, so that a call costs a look-up and no check; forgets it
// when the tenant's keys or issuers change.
import { LRUCache } from 'lru-cache';
import type { Change } from '../shared/changes.ts';
import type { ProxyError } from '../shared/errors.ts';
import type { TenantId } from '../shared/id.ts';
import type { Verdict } from './verdict.ts';

const MAX_GOOD = 50_000;
/** Characters of token text held; tokens may be up to 8 KiB each. */
const MAX_GOOD_LENGTH = 64 * 1024 * 1024;
const MAX_BAD = 5_000;
const MAX_BAD_LENGTH = 4 * 1024 * 1024;
const BAD_FOR_MS = 10_000;
/** After a resync a remembered token is still answered this long while it is checked again. */
const RESYNC_GRACE_MS = 5_000;
const MAX_TENANT_DROPS = 10_000;

export interface Remembered {
  readonly verdict: Verdict;
  /** The turn in which the check began: what changed later, the check may not have seen. */
  readonly turn: number;
}

interface Bad {
  readonly error: ProxyError;
  readonly until: number;
}

export class TokenMemory {
  readonly #good = new LRUCache<string, Remembered>({
    max: MAX_GOOD,
    maxSize: MAX_GOOD_LENGTH,
    sizeCalculation: (_, token) => token.length,
  });
  readonly #bad = new LRUCache<string, Bad>({
    max: MAX_BAD,
    maxSize: MAX_BAD_LENGTH,
    sizeCalculation: (_, token) => token.length,
  });
  /** By tenant, the turn of its last change; `#floor` stands for every tenant not in it. */
  readonly #drops = new Map<TenantId, number>();
  #floor = 0;
  #turn = 0;
  #resync = { turn: 0, previousTurn: 0, at: Number.NEGATIVE_INFINITY };
  /** Tokens whose new check after the last resync was handed out. */
  #rechecked = new WeakSet<Remembered>();

  /** Counts changes heard so far. Take it before a check begins. */
  get turn(): number {
    return this.#turn;
  }

  hear(change: Change, now: number): void {
    if (change.kind === 'resync') {
      this.#turn += 1;
      this.#resync = { turn: this.#turn, previousTurn: this.#resync.turn, at: now };
      this.#rechecked = new WeakSet();
    } else if (change.kind === 'tenants' || change.kind === 'issuers' || change.kind === 'agent_keys') {
      this.#turn += 1;
      this.#drop(change.tenantId);
    } else return;
    this.#bad.clear();
  }

  /** The remembered verdict, the remembered refusal thrown, or undefined: then the token must be checked. */
  recall(token: string, now: number): Remembered | undefined {
    const found = this.#good.get(token);
    if (found === undefined) return this.#throwIfBad(token, now);
    if (now < found.verdict.expiresAt && this.#isCurrent(found, now)) return found;
    return undefined;
  }

  /** Whether it was good when it was last checked, however long ago: whoever holds it is no stranger. */
  knew(token: string): boolean {
    return this.#good.has(token);
  }

  /** True once for each remembered token after each resync: the caller should check it again, aside. */
  claimRecheck(found: Remembered): boolean {
    if (found.turn >= this.#resync.turn || this.#rechecked.has(found)) return false;
    this.#rechecked.add(found);
    return true;
  }

  remember(token: string, verdict: Verdict, turn: number): void {
    this.#bad.delete(token);
    this.#good.set(token, { verdict, turn });
  }

  refuse(token: string, error: ProxyError, turn: number, now: number): void {
    this.#good.delete(token);
    if (turn === this.#turn) this.#bad.set(token, { error, until: now + BAD_FOR_MS });
  }

  #isCurrent({ verdict, turn }: Remembered, now: number): boolean {
    if (turn < (this.#drops.get(verdict.tenantId) ?? this.#floor)) return false;
    if (turn >= this.#resync.turn) return true;
    // A notice may have been lost, so nothing older than two resyncs is trusted, and that but for a moment.
    return turn >= this.#resync.previousTurn && now < this.#resync.at + RESYNC_GRACE_MS;
  }

  #drop(tenantId: TenantId): void {
    if (this.#drops.size >= MAX_TENANT_DROPS) {
      this.#floor = this.#turn;
      this.#drops.clear();
    }
    this.#drops.set(tenantId, this.#turn);
  }

  #throwIfBad(token: string, now: number): undefined {
    const bad = this.#bad.get(token);
    if (bad !== undefined && now < bad.until) throw bad.error;
    return undefined;
  }
}
