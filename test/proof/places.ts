// What steps are drawn from: people, seats, servers, nodes, ids.
import fc from 'fast-check';
import { LABELS, SERVERS, TENANTS } from './model.ts';
import { KINDS, NODES, type Seat } from './world.ts';

export const label = fc.constantFrom(...LABELS);
export const server = fc.constantFrom(...SERVERS);
export const node = fc.constantFrom(...NODES);
export const tenant = fc.constantFrom(...TENANTS);
export const seat: fc.Arbitrary<Seat> = fc.record({ label, kind: fc.constantFrom(...KINDS), node });
/** Few, so that those of different sessions are often one. */
export const id = fc.integer({ min: 1, max: 5 });
export const where = fc.record({ seat, server });

const seatKey = ({ label, kind, node }: Seat): string => `${label} ${kind} ${node}`;

/** Each seat once: within one session two requests at a time never have one id. */
export const burst = fc.uniqueArray(where, { minLength: 2, maxLength: 8, selector: ({ seat }) => seatKey(seat) });
export const seats = fc.uniqueArray(seat, { minLength: 2, maxLength: 6, selector: seatKey });
