// A keyed server that has prompts, resources and completion beside its tools, and more of each than it should say.

import type { KeyedServerOptions } from './keyed-options.ts';
import { type KeyedServer, startKeyedServer } from './keyed-server.ts';
import type { JsonObject } from './message.ts';
import { answerOffer, type Offering } from './offering-answers.ts';
import { OFFER, type Offer } from './offering-items.ts';

export interface OfferingOptions extends Omit<KeyedServerOptions, 'also'>, Partial<Omit<Offering, 'offer'>> {
  /** Instead of the usual, or of some kinds of it; for each person anew where it is a function. */
  readonly offer?: Partial<Offer> | ((principal: string) => Partial<Offer>);
}

const CAPABILITIES = {
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
} as const;

export function startOffering(options: OfferingOptions): Promise<KeyedServer> {
  const { offer = {}, lacks = [], cache = ',"ttlMs":4321,"cacheScope":"public"', own = {}, ...keyed } = options;
  const offering: Offering = {
    offer: (principal) => ({ ...OFFER, ...(typeof offer === 'function' ? offer(principal) : offer) }),
    lacks,
    cache,
    own,
  };
  const capabilities: JsonObject = Object.fromEntries(
    Object.entries(CAPABILITIES).filter(([name]) => !(lacks as readonly string[]).includes(name)),
  );
  return startKeyedServer({ ...keyed, also: { capabilities, answer: (exchange) => answerOffer(exchange, offering) } });
}
