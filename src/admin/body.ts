// Request bodies: unknown JSON in, a checked value out, or every problem with its path.
import { z } from 'zod';
import { memberPath } from '../catalog/definition-shape.ts';
import { isLoopbackHost } from '../catalog/loopback-host.ts';
import { didYouMean, MAX_UNKNOWN } from '../catalog/near-miss.ts';
import type { Problem } from '../catalog/upstream-server.ts';
import { MAX_URL_LENGTH, urlFault } from '../shared/url-form.ts';
import { knownMembers, plainWords } from './plain-words.ts';
import { AdminProblem, invalid, invalidAt } from './problem.ts';

const MAX_DEPTH = 64;
const MAX_PARTS = 10_000;

export function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  // An issue tells what an object may have only while it is put into words.
  const known = new Map<string, readonly string[]>();
  const error = (issue: z.core.$ZodRawIssue): string => {
    if (issue.code === 'unrecognized_keys') known.set(toPath(issue.path ?? []), knownMembers(issue));
    return plainWords(issue);
  };
  const result = schema.safeParse(body, { error });
  if (result.success) return result.data;
  throw invalid(result.error.issues.flatMap((issue) => toProblems(issue, known)));
}

function toProblems(issue: z.core.$ZodIssue, known: ReadonlyMap<string, readonly string[]>): readonly Problem[] {
  const path = toPath(issue.path);
  if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }];
  const hint = (key: string): string => didYouMean(key, known.get(path) ?? []);
  const { keys } = issue;
  const told = keys
    .slice(0, MAX_UNKNOWN)
    .map((key) => ({ path: memberPath(path, key), message: `is not known.${hint(key)}` }));
  if (keys.length <= MAX_UNKNOWN) return told;
  return [{ path, message: `has ${String(keys.length)} members that are not known` }, ...told];
}

function toPath(parts: readonly PropertyKey[]): string {
  return parts.reduce<string>(
    (path, part) => (typeof part === 'number' ? `${path}[${String(part)}]` : memberPath(path, String(part))),
    '$',
  );
}

/**
 * Before anything recursive or the database sees it: JSON.parse takes what crashes those, and what they would be busy
 * with while everybody else waits (T26).
 */
export function requireSound(body: unknown): void {
  let level: readonly unknown[] = [body];
  let parts = 1;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH)
      throw new AdminProblem(400, `The body is nested more than ${String(MAX_DEPTH)} levels deep.`);
    const next: unknown[] = [];
    for (const value of level) {
      if (isUnstorable(value)) throw invalidAt('$', 'has a NUL character, or half of a character, in one of its texts');
      parts += addParts(value, next);
      if (parts > MAX_PARTS)
        throw new AdminProblem(400, `The body has more than ${String(MAX_PARTS)} names and values.`);
    }
    level = next;
  }
}

/** Gives how many there are; of too many none is added. */
function addParts(value: unknown, to: unknown[]): number {
  if (typeof value !== 'object' || value === null) return 0;
  const parts: readonly unknown[] = Array.isArray(value) ? value : Object.entries(value).flat();
  if (parts.length <= MAX_PARTS) to.push(...parts);
  return parts.length;
}

/** PostgreSQL takes neither in JSON nor in text. */
function isUnstorable(value: unknown): boolean {
  return typeof value === 'string' && /[\0\p{Cs}]/u.test(value);
}

/** May be left out, or null, which says the same. */
export const orNull = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);

/** A line a person reads, in the order in which it is written: nothing in it turns the reading direction around. */
export const line = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^[^\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]*$/u, 'must not have line breaks or control characters');

/** Secrets travel there, so only TLS or this machine. */
export const safeUrl = z
  .string()
  .max(MAX_URL_LENGTH, { abort: true })
  .refine(isSafeUrl, 'must be an https:// URL without user name and fragment');

function isSafeUrl(text: string): boolean {
  if (urlFault(text) !== undefined || text.includes('#')) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || isLoopbackHost(hostname);
}
