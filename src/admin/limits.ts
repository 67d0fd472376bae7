// What the operator says that a tenant may use; each member on its own, and what is left out is as for all.
import { z } from 'zod';
import { LIMIT_NAMES, LIMIT_RANGES, type LimitName } from '../limits/tenant-limits.ts';

const whole = (name: LimitName) => {
  const [min, max] = LIMIT_RANGES[name];
  const error = `must be a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error }).optional();
};

type Members = Readonly<Record<LimitName, ReturnType<typeof whole>>>;

export const limitsSchema = z.strictObject(
  Object.fromEntries(LIMIT_NAMES.map((name) => [name, whole(name)])) as Members,
);

/** The same for the OpenAPI document. */
export const limitsDocument = {
  type: 'object',
  description: 'Changed by the operator only; a member that is left out is as for all tenants.',
  additionalProperties: false,
  properties: Object.fromEntries(
    LIMIT_NAMES.map((name) => {
      const [minimum, maximum] = LIMIT_RANGES[name];
      return [name, { type: 'integer', minimum, maximum }];
    }),
  ),
};
