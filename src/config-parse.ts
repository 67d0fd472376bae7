// How one variable's text becomes a value of ours: each parser gives undefined for what does not hold.
import { isIP } from 'node:net';
import { z } from 'zod';
import type { TrustProxy } from './limits/client-address.ts';
import { Secret } from './shared/secret.ts';

/** A text that `parse` turns into ours; undefined from it means that the text does not hold. */
export function text<T>(rule: string, parse: (value: string) => T | undefined) {
  return z.string().transform((value, context) => {
    const parsed = parse(value);
    if (parsed !== undefined) return parsed;
    context.addIssue({ code: 'custom', message: rule });
    return z.NEVER;
  });
}

export function whole(min: number, max: number) {
  return text(`must be a whole number from ${String(min)} to ${String(max)}`, (value) => {
    const number = /^\d{1,12}$/.test(value) ? Number(value) : Number.NaN;
    return number >= min && number <= max ? number : undefined;
  });
}

const FLAGS = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

export function flag() {
  return text('must be true or false', (value) => FLAGS.get(value.toLowerCase()));
}

export function list(rule: string, parse: (item: string) => string | undefined) {
  return text(rule, (value) => {
    const items = value
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
    const parsed = items.map(parse).filter((item) => item !== undefined);
    return parsed.length === items.length && items.length > 0 ? [...new Set(parsed)] : undefined;
  });
}

export function parseHost(value: string): string | undefined {
  const bare = value.replace(/^\[(.*)\]$/, '$1');
  return isIP(bare) !== 0 || isHostName(bare) ? bare.toLowerCase() : undefined;
}

/** A last label of digits would be an IP address in a spelling that others read differently. */
function isHostName(value: string): boolean {
  return (
    value.length <= 253 &&
    /^(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i.test(value) &&
    !/(?:^|\.)\d+$/.test(value)
  );
}

export function parseHostAndPort(value: string): string | undefined {
  // A zone means another thing on every machine.
  if (value.includes('%')) return undefined;
  if (isIP(value) === 6) return `[${value.toLowerCase()}]`;
  const [, host = '', port] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(value) ?? [];
  const isHost = host.startsWith('[') ? isIP(host.slice(1, -1)) === 6 : isIP(host) === 4 || isHostName(host);
  if (!isHost || Number(port ?? 1) < 1 || Number(port ?? 1) > 65_535) return undefined;
  return (port === undefined ? host : `${host}:${Number(port)}`).toLowerCase();
}

/** What has a scheme was meant for another variable, and may hold a password: it would be made a path, and printed. */
export function parsePath(value: string): string | undefined {
  return value.includes('://') ? undefined : value;
}

/** As text without leading zeros. */
export function parsePort(value: string): string | undefined {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : 0;
  return port >= 1 && port <= 65_535 ? String(port) : undefined;
}

export function parseCidr(value: string): string | undefined {
  const [, address = '', length, port] = /^([^/%]+)\/(\d{1,3})(?::(\d{1,5}))?$/.exec(value) ?? [];
  if (Number(port ?? 1) < 1 || Number(port ?? 1) > 65_535) return undefined;
  const family = isIP(address);
  return family !== 0 && Number(length) <= (family === 4 ? 32 : 128) ? value.toLowerCase() : undefined;
}

/** A number counts fronts; the rest names them. */
export function parseTrustProxy(value: string): TrustProxy | undefined {
  if (/^\d+$/.test(value)) {
    const hops = Number(value);
    return hops >= 1 && hops <= 10 ? { kind: 'hops', hops } : undefined;
  }
  const items = value.split(',').map((item) => item.trim());
  const addresses = items.map((item) =>
    /^[^%/]+$/.test(item) && isIP(item) !== 0 ? item.toLowerCase() : parseCidr(item),
  );
  const known = addresses.filter((address) => address !== undefined);
  return known.length === items.length ? { kind: 'addresses', addresses: [...new Set(known)] } : undefined;
}

function parseWebUrl(value: string): URL | undefined {
  if (!/^https?:\/\/[^/?#\\\s]+[^?#\\\s]*$/i.test(value) || !URL.canParse(value)) return undefined;
  const url = new URL(value);
  return url.username === '' && url.password === '' ? url : undefined;
}

export function parsePublicUrl(value: string): string | undefined {
  return parseWebUrl(value)?.href.replace(/\/+$/, '');
}

export interface CommandUser {
  readonly uid: number;
  readonly gid: number;
}

/** `uid` or `uid:gid`; without a gid it is the same number. */
export function parseCommandUser(value: string): CommandUser | undefined {
  const [, uid, gid = uid] = /^([1-9]\d{0,8})(?::([1-9]\d{0,8}))?$/.exec(value) ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

export function parseOrigin(value: string): string | undefined {
  const url = parseWebUrl(value);
  return url?.pathname === '/' ? url.origin : undefined;
}

export function parseMasterKeys(value: string): readonly Secret[] | undefined {
  const keys = value.split(',').map((key) => key.trim());
  const decoded = keys.map((key) => Buffer.from(key, 'base64').toString('base64'));
  const holds = keys.every((key) => /^[A-Za-z0-9+/_-]{43}=?$/.test(key)) && new Set(decoded).size === keys.length;
  return holds ? decoded.map((key) => new Secret(key)) : undefined;
}
