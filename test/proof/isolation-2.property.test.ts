// One half of ten thousand random steps (T18); the other runs beside it, on another core.
import { it } from 'vitest';
import { keepApart, LONGEST_MS } from './isolation.ts';

it(
  'keeps three tenants of three people apart through 5,000 random steps, the second half',
  { timeout: LONGEST_MS + 30_000 },
  () => keepApart(5_000),
);
