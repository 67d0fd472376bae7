// The corpus: what each address, answer, rebinding and redirect has to come to.
import { readFileSync } from 'node:fs';
import type { EgressSettings } from '../../../src/upstream/egress/policy.ts';

export interface Vector {
  readonly id: string;
  readonly category: string;
  readonly kind: 'url' | 'rebind' | 'redirect';
  readonly url: string;
  readonly verdict: 'allow' | 'deny';
  readonly why: string;
  readonly resolves_to?: readonly string[];
  readonly resolver_error?: string;
  readonly resolver_sequence?: readonly (readonly string[])[];
  readonly resolver_getter_second_read?: string;
  readonly steps?: readonly {
    readonly expect: 'allow' | 'deny';
    readonly dial?: readonly string[];
    readonly reuse?: boolean;
    readonly upstream_status?: number;
  }[];
  readonly config?: {
    readonly schemes?: readonly string[];
    readonly ports?: readonly number[];
    readonly nat64?: boolean;
    readonly selfAddresses?: readonly string[];
    readonly selfHosts?: readonly string[];
  };
  readonly mode?: 'same-origin' | 'checked';
  readonly chain?: readonly { readonly status: number; readonly location?: string; readonly close?: boolean }[];
  readonly dns?: Readonly<Record<string, readonly string[] | readonly (readonly string[])[]>>;
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly forbid_headers_from_hop?: Readonly<Record<string, readonly string[]>>;
  readonly require_headers_at_hop?: Readonly<Record<string, readonly string[]>>;
}

export const VECTORS: readonly Vector[] = (
  JSON.parse(readFileSync(new URL('./vectors.json', import.meta.url), 'utf8')) as { entries: Vector[] }
).entries;

export const vectorsOf = (kind: Vector['kind']): readonly Vector[] => VECTORS.filter((vector) => vector.kind === kind);

/**
 * As an operator would set them. Here `http:` and other ports go with a host that is named, and a named host may
 * be anywhere; so where the corpus allows them for everybody and refuses the address, nothing is named.
 */
export function settingsOf({ url, verdict, config = {} }: Vector): EgressSettings {
  const inClear = config.schemes?.includes('http:') ?? false;
  return {
    allow: inClear && verdict === 'allow' ? [new URL(url).host] : [],
    allowHttp: inClear,
    ports: config.ports ?? [443, 8443],
    nat64: config.nat64 ?? false,
  };
}
