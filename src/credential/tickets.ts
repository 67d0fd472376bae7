// Sign-in links: issued, found and used once. A ticket grants nothing; it only says what a link is about (T1).
import { createHash } from 'node:crypto';
import { bindingOf } from '../catalog/binding.ts';
import type { UpstreamServer } from '../catalog/upstream-server.ts';
import type { Clock } from '../shared/clock.ts';
import { ProxyError } from '../shared/errors.ts';
import { type PrincipalId, randomId, type TenantId } from '../shared/id.ts';
import { Secret } from '../shared/secret.ts';
import type { Ticket, TicketStore } from './ticket-store.ts';

const LIFE_MS = 10 * 60_000;
/** A link with less time left than this is not handed out again. */
const REUSE_MS = 5 * 60_000;
/** Of one person, for all servers; each node hands out its own. */
const MAX_OPEN = 50;
/** Of one person for one server, so that what a server says cannot use up the links to all others. */
const MAX_OPEN_OF_SERVER = 10;
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
  /**
   * Gives the last link for the same wish again while it is good, and the last of all when the server has too
   * many; throws `rate_limited` when the person has.
   */
  issue(tenantId: TenantId, principalId: PrincipalId, server: UpstreamServer, wish?: SignInWish): Promise<SignInLink>;
  /** Unused and unexpired, else undefined. */
  find(text: string): Promise<Ticket | undefined>;
  /** True for one caller only, on whichever node. */
  consume(text: string, by?: Buffer): Promise<Ticket | undefined>;
}

export interface TicketsDeps {
  readonly store: TicketStore;
  readonly clock: Clock;
  readonly publicUrl: () => string;
}

interface Issued {
  readonly binding: string;
  readonly wish: string;
  readonly text: Secret;
  readonly expiresAt: number;
  /** Rejects when there is no such ticket after all. */
  readonly stored: Promise<void>;
}

export function createTickets({ store, clock, publicUrl }: TicketsDeps): Tickets {
  // Agents call again and again before their person signs in; each call gives the same link. By person and
  // server, oldest first.
  const remembered = new Map<string, readonly Issued[]>();

  const remember = (key: string, links: readonly Issued[]): void => {
    if (links.length === 0) {
      remembered.delete(key);
      return;
    }
    // Insertion order is age, so the first key is the oldest.
    const isOver = !remembered.has(key) && remembered.size >= MAX_REMEMBERED;
    const oldest = isOver ? remembered.keys().next().value : undefined;
    if (oldest !== undefined) remembered.delete(oldest);
    remembered.set(key, links);
  };

  const forget = (key: string, issued: Issued): void =>
    remember(
      key,
      (remembered.get(key) ?? []).filter((other) => other !== issued),
    );

  const openAt = (key: string, binding: string): readonly Issued[] =>
    (remembered.get(key) ?? []).filter((link) => link.binding === binding && link.expiresAt > clock.now());

  const pick = (links: readonly Issued[], wish: string): Issued | undefined =>
    links.findLast((link) => link.wish === wish && link.expiresAt - clock.now() > REUSE_MS) ??
    (links.length < MAX_OPEN_OF_SERVER ? undefined : links.at(-1));

  const save = async (ticket: Ticket): Promise<void> => {
    const open = await store.countOpen(ticket.tenantId, ticket.principalId, clock.now());
    if (open >= MAX_OPEN) throw tooMany();
    await store.create(ticket);
  };

  const create = (ticket: Omit<Ticket, 'hash' | 'expiresAt'>, wish: string): Issued => {
    const [text, expiresAt] = [new Secret(randomId()), clock.now() + LIFE_MS];
    const stored = save({ ...ticket, hash: hashOf(text.reveal()), expiresAt });
    return { binding: ticket.binding, wish, text, expiresAt, stored };
  };

  /** Another node may have used it up. */
  const isUnused = async ({ text, stored }: Issued): Promise<boolean> => {
    await stored;
    return (await store.find(hashOf(text.reveal()), clock.now())) !== undefined;
  };

  /** Known before it is stored, so that who asks meanwhile gets the same. */
  const add = async (key: string, links: readonly Issued[], link: Issued): Promise<Issued> => {
    remember(key, [...links, link]);
    try {
      await link.stored;
      return link;
    } catch (error) {
      forget(key, link);
      throw error;
    }
  };

  const linkFor = async (ticket: Omit<Ticket, 'hash' | 'expiresAt'>, wish: string): Promise<Issued> => {
    const key = JSON.stringify([ticket.tenantId, ticket.principalId, ticket.serverId]);
    // Ends: each link that is no good is forgotten.
    for (;;) {
      const links = openAt(key, ticket.binding);
      const known = pick(links, wish);
      if (known === undefined) return add(key, links, create(ticket, wish));
      if (await isUnused(known)) return known;
      forget(key, known);
    }
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
      const { text, expiresAt } = await linkFor(ticket, wishOf(ticket));
      return { url: `${publicUrl().replace(/\/+$/, '')}/connect/${text.reveal()}`, expiresAt };
    },
    find: async (text) => (TICKET_TEXT.test(text) ? await store.find(hashOf(text), clock.now()) : undefined),
    consume: async (text, by) =>
      TICKET_TEXT.test(text) ? await store.consume(hashOf(text), clock.now(), by) : undefined,
  };
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** What makes one link another. A server words its challenge anew each time; what counts is that it says where to look. */
function wishOf({ challenge, scopes }: Pick<Ticket, 'challenge' | 'scopes'>): string {
  return JSON.stringify([challenge?.includes('resource_metadata') === true, ...[...scopes].sort()]);
}

function tooMany(): ProxyError {
  const message = 'Too many sign-in links are open for this person. Use one of them, or wait until they expire.';
  return new ProxyError('rate_limited', message, { data: { retryAfterMs: LIFE_MS } });
}
