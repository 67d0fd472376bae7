// The guard's first half as a rule for registrations: the same check, in words for who writes definitions.
import type { AddressRule } from '../../catalog/address-rule.ts';
import { EgressDeniedError, type EgressReason } from '../../shared/errors.ts';
import { parseAddress } from './address.ts';
import { checkUrl } from './check-url.ts';
import { bareHost } from './host-names.ts';
import type { EgressPolicy } from './policy.ts';

/** What the operator would have to write, and that it takes a restart. */
const allowIt = (url: string, { allowHttp }: EgressPolicy): string => {
  const setting = `KEYBEARER_EGRESS_ALLOW=host:port${url.startsWith('http:') && !allowHttp ? ' and KEYBEARER_EGRESS_ALLOW_HTTP=true' : ''}`;
  return `the operator can allow it with ${setting} (read at the start; see "Addresses" in docs/reference/configuration.md)`;
};

const inside = (url: string, policy: EgressPolicy): string =>
  isOfNoUse(url, policy)
    ? 'is an address that no server has: link-local, of the metadata of a cloud, or none at all'
    : `leads into a private network; ${allowIt(url, policy)}`;

function isOfNoUse(url: string, policy: EgressPolicy): boolean {
  const address = parseAddress(bareHost(new URL(url).hostname));
  return address !== undefined && policy.isMetadata(address);
}

const WORDS: Readonly<Record<EgressReason, (url: string, policy: EgressPolicy) => string>> = {
  url: () => 'is no address that can be used: check it for blanks, a user name or its length',
  scheme: (_url, { allowHttp }) =>
    allowHttp
      ? 'must start with https:// because the operator has not named this host in KEYBEARER_EGRESS_ALLOW'
      : 'must start with https:// (the operator can allow http:// for hosts of KEYBEARER_EGRESS_ALLOW with KEYBEARER_EGRESS_ALLOW_HTTP=true)',
  port: (_url, { ports }) =>
    `has a port that may not be used: ${[...ports].join(' or ')}, or one that the operator allows as host:port in KEYBEARER_EGRESS_ALLOW`,
  host: () => 'has a host that is no name and no address',
  private_host: inside,
  private_address: inside,
  own_host: () => 'is this proxy itself',
  dns_answer: () => 'cannot be resolved',
};

export function createAddressRule(policy: EgressPolicy): AddressRule {
  return (url) => {
    try {
      checkUrl(url, policy);
      return undefined;
    } catch (error) {
      if (error instanceof EgressDeniedError) return WORDS[error.reason](url, policy);
      throw error;
    }
  };
}
