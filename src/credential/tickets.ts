// Sign-in links: issued, found and used once. A ticket grants nothing; it only says what a link is about (T1).
import { createHash } from 'node:crypto';
import { bindingOf } from '../catalog/binding.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { type PrincipalId, randomId, type TenantId } from '../shared/id.ts';
import { SingleFlight } from '../shared/single-flight.ts';
import type { Ticket, TicketStore } from './ticket-store.ts';

const LIFE_MS = 10 * 60_000;
/** A link with less time left than this is not handed out again. */
const REUSE_MS = 5 * 60_000;
/** Of one person, for all servers; each node hands out its own. */
const MAX_OPEN = 50;
const MAX_REMEMBERED = 10_000;
const MAX_CHALLENGE = 8 * 1024;
/** What `randomId` gives; nothing else needs a look into the store. */
const TICKET_TEXT = /^[A-Za-z0-9_-]{43}$/;

export interface SignInLink {
  readonly url: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
}

/** What the refusal that led to the link said, for the sign-in to go by. */
export interface SignInWish {
  readonly challenge?: string | undefined;
  readonly scopes?: readonly string[];
}

export interface Tickets {
  /** Gives the last link again while it is good; throws `rate_limited` when too many are open. */
  issue(tenantId: TenantId, principalId: PrincipalId, server: UpstreamServer, wish?: SignInWish): Promise<SignInLink>;
  /** Unused and unexpired, else undefined. */
  find(text: string): Promise<Ticket | undefined>;
  /** True for one caller only, on whichever node. */
  consume(text: string): Promise<Ticket | undefined>;
}

export interface TicketsDeps {
  readonly store: TicketStore;
  readonly clock: Clock;
  readonly publicUrl: () => string;
}

interface Issued {
  readonly text: string;
  readonly expiresAt: number;
}

export function createTickets({ store, clock, publicUrl }: TicketsDeps): Tickets {
  // Agents call again and again before their person signs in; each call gives the same link.
  const remembered = new Map<string, Issued>();
  const issuing = new SingleFlight<Issued>();

  const stillGood = async (key: string): Promise<Issued | undefined> => {
    const issued = remembered.get(key);
    if (issued === undefined) return undefined;
    // Another node may have used it up.
    const isOpen =
      issued.expiresAt - clock.now() > REUSE_MS && (await store.find(hashOf(issued.text), clock.now())) !== undefined;
    if (!isOpen) remembered.delete(key);
    return isOpen ? issued : undefined;
  };

  const create = async (ticket: Omit<Ticket, 'hash' | 'expiresAt'>): Promise<Issued> => {
    const open = await store.countOpen(ticket.tenantId, ticket.principalId, clock.now());
    if (open >= MAX_OPEN) throw tooMany();
    const issued = { text: randomId(), expiresAt: clock.now() + LIFE_MS };
    await store.create({ ...ticket, hash: hashOf(issued.text), expiresAt: issued.expiresAt });
    return issued;
  };

  const remember = (key: string, issued: Issued): Issued => {
    // Insertion order is age, so the first key is the oldest.
    const oldest = remembered.size >= MAX_REMEMBERED ? remembered.keys().next().value : undefined;
    if (oldest !== undefined) remembered.delete(oldest);
    remembered.set(key, issued);
    return issued;
  };

  return {
    async issue(tenantId, principalId, server, { challenge, scopes = [] } = {}) {
      const ticket = {
        tenantId,
        principalId,
        serverId: server.id,
        binding: bindingOf(server),
        challenge: challenge?.slice(0, MAX_CHALLENGE),
        scopes,
      };
      const key = JSON.stringify([tenantId, principalId, ticket.serverId, ticket.binding, ticket.challenge, scopes]);
      const { text, expiresAt } = await issuing.run(
        key,
        async () => (await stillGood(key)) ?? remember(key, await create(ticket)),
      );
      return { url: `${publicUrl().replace(/\/+$/, '')}/connect/${text}`, expiresAt };
    },
    find: async (text) => (TICKET_TEXT.test(text) ? await store.find(hashOf(text), clock.now()) : undefined),
    consume: async (text) => (TICKET_TEXT.test(text) ? await store.consume(hashOf(text), clock.now()) : undefined),
  };
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function tooMany(): ProxyError {
  const message = 'Too many sign-in links are open for this person. Use one of them, or wait until they expire.';
  return new ProxyError('rate_limited', message, { data: { retryAfterMs: LIFE_MS } });
}
