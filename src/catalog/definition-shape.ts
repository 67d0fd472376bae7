// Reads one JSON object member by member and notes every problem with its path, never with a value.

import { isJsonObject } from '../wire/reply.ts';
import { didYouMean, MAX_UNKNOWN } from './near-miss.ts';
import type { Problem } from './upstream-server.ts';

type Check = (text: string) => string | undefined;

export class Shape {
  readonly path: string;
  readonly #members: ReadonlyMap<string, unknown>;
  readonly #problems: Problem[];

  private constructor(members: object, path: string, problems: Problem[]) {
    this.path = path;
    this.#members = new Map(Object.entries(members));
    this.#problems = problems;
  }

  /** Undefined, with a problem noted, when the value is no object. */
  static of(value: unknown, path: string, problems: Problem[]): Shape | undefined {
    if (isJsonObject(value)) return new Shape(value, path, problems);
    problems.push({ path, message: 'must be an object' });
    return undefined;
  }

  /** Said something: there, and neither null nor empty. */
  has(name: string): boolean {
    const value = this.#members.get(name);
    if (value === undefined || value === null) return false;
    return typeof value === 'object' ? Object.keys(value).length > 0 : true;
  }

  refuse(name: string, message: string): void {
    this.#problems.push({ path: memberPath(this.path, name), message });
  }

  /** A member we do not know is refused: a misspelt "except" must not offer what was to be hidden. */
  refuseUnknown(known: readonly string[], meant: Readonly<Record<string, string>> = {}): void {
    const unknown = [...this.#members.keys()].filter((name) => !known.includes(name));
    if (unknown.length > MAX_UNKNOWN)
      this.#problems.push({ path: this.path, message: `has ${String(unknown.length)} members that are not known` });
    for (const name of unknown.slice(0, MAX_UNKNOWN)) {
      const hint = Object.hasOwn(meant, name) ? ` Did you mean "${String(meant[name])}"?` : didYouMean(name, known);
      this.refuse(name, `is not known.${hint}`);
    }
  }

  /** Text that passes the check; null counts as left out. */
  text(name: string, check: Check): string | undefined {
    const value = this.#members.get(name);
    return value === undefined || value === null ? undefined : this.#checked(memberPath(this.path, name), value, check);
  }

  requiredText(name: string, check: Check): string | undefined {
    const value = this.#members.get(name);
    if (value !== undefined && value !== null && value !== '') return this.text(name, check);
    this.refuse(name, 'is needed');
    return undefined;
  }

  texts(name: string, maxItems: number, check: Check): readonly string[] | undefined {
    const value = this.#members.get(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) {
      this.refuse(name, 'must be a list of texts');
      return undefined;
    }
    if (value.length > maxItems) {
      this.refuse(name, `has more than ${String(maxItems)} entries`);
      return undefined;
    }
    const path = memberPath(this.path, name);
    return value.map((item: unknown, index) => this.#checked(`${path}[${String(index)}]`, item, check) ?? '');
  }

  flag(name: string): boolean | undefined {
    const value = this.#members.get(name);
    if (value === undefined || typeof value === 'boolean') return value;
    this.refuse(name, 'must be true or false');
    return undefined;
  }

  whole(name: string, min: number, max: number): number | undefined {
    const value = this.#members.get(name);
    if (value === undefined) return undefined;
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
    this.refuse(name, `must be a whole number from ${String(min)} to ${String(max)}`);
    return undefined;
  }

  choice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const value = this.#members.get(name);
    const chosen = choices.find((choice) => choice === value);
    if (chosen === undefined && value !== undefined)
      this.refuse(name, `must be one of ${choices.map((choice) => `"${choice}"`).join(', ')}`);
    return chosen;
  }

  /** A nested object; null counts as left out. */
  member(name: string): Shape | undefined {
    const value = this.#members.get(name);
    return value === undefined || value === null
      ? undefined
      : Shape.of(value, memberPath(this.path, name), this.#problems);
  }

  /** Everything in this object, for maps whose names the admin chose. */
  names(): readonly string[] {
    return [...this.#members.keys()];
  }

  /** The names in a nested map, whatever else is wrong with it. */
  namesIn(name: string): readonly string[] {
    const value = this.#members.get(name);
    return isJsonObject(value) ? Object.keys(value) : [];
  }

  /** For restrictions, where null could mean "nothing" as well as "everything". */
  refuseNull(name: string): void {
    if (this.#members.get(name) === null) this.refuse(name, 'must not be null; leave it out instead');
  }

  raw(name: string): unknown {
    return this.#members.get(name);
  }

  #checked(path: string, value: unknown, check: Check): string | undefined {
    const message = typeof value === 'string' ? check(value) : 'must be text';
    if (message === undefined) return value as string; // `message` is undefined only on the string branch
    this.#problems.push({ path, message });
    return undefined;
  }
}

/** RFC 9535 style. A name is cut where it stops looking like one: people paste `Name: secret` there. */
export function memberPath(path: string, name: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name)) return `${path}.${name}`;
  const shown = /^[A-Za-z0-9_.$-]{0,64}/.exec(name)?.[0] ?? '';
  return `${path}['${shown}${shown === name ? '' : '…'}']`;
}
