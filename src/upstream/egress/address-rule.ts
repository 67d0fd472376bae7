// The guard's first half as a rule for registrations: the same check, in words for who writes definitions.
import type { AddressRule } from '../../catalog/address-rule.ts';
import { EgressDeniedError, type EgressReason } from '../../shared/errors.ts';
import { checkUrl } from './check-url.ts';
import type { EgressPolicy } from './policy.ts';

const INSIDE = 'leads into a private network; the operator can allow it with KEYBEARER_EGRESS_ALLOW';

const WORDS: Readonly<Record<EgressReason, (policy: EgressPolicy) => string>> = {
  url: () => 'is no address that can be used: check it for blanks, a user name or its length',
  scheme: ({ allowHttp }) =>
    allowHttp
      ? 'must start with https:// because the operator has not named this host in KEYBEARER_EGRESS_ALLOW'
      : 'must start with https:// (the operator can allow http:// for hosts of KEYBEARER_EGRESS_ALLOW with KEYBEARER_EGRESS_ALLOW_HTTP=true)',
  port: ({ ports }) =>
    `has a port that may not be used: ${[...ports].join(' or ')}, or one that the operator allows as host:port in KEYBEARER_EGRESS_ALLOW`,
  host: () => 'has a host that is no name and no address',
  private_host: () => INSIDE,
  private_address: () => INSIDE,
  own_host: () => 'is this proxy itself',
  dns_answer: () => 'cannot be resolved',
};

export function createAddressRule(policy: EgressPolicy): AddressRule {
  return (url) => {
    try {
      checkUrl(url, policy);
      return undefined;
    } catch (error) {
      if (error instanceof EgressDeniedError) return WORDS[error.reason](policy);
      throw error;
    }
  };
}
