// What is wrong with a body, in the words that refusals of definitions use. The checker's own words are for
// programmers; what a schema says for itself comes first.
import { z } from 'zod';

type Raw = z.core.$ZodRawIssue;

const KINDS: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
};

/** Names kinds and limits, never the value that broke them. */
export function plainWords(issue: Raw): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? 'is needed' : `must be ${KINDS[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return issue.input === undefined ? 'is needed' : oneOf(issue.values);
    case 'invalid_union':
      return 'options' in issue && Array.isArray(issue.options) ? oneOf(issue.options) : 'has a form that is not taken';
    case 'too_small':
      return tooSmall(issue.origin, Number(issue.minimum));
    case 'too_big':
      return issue.origin === 'number'
        ? `must be ${String(issue.maximum)} or less`
        : `has more than ${String(issue.maximum)} ${unitOf(issue.origin)}`;
    case 'invalid_key':
      return 'has a name that is too long';
    default:
      return 'is not well-formed';
  }
}

/** The members that the object there may have; none where it is no object. */
export function knownMembers(issue: Raw): readonly string[] {
  return issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape) : [];
}

function oneOf(choices: readonly unknown[]): string {
  const shown = choices.map((choice) => JSON.stringify(choice)).join(', ');
  return choices.length === 1 ? `must be ${shown}` : `must be one of ${shown}`;
}

function tooSmall(origin: string, minimum: number): string {
  if (origin === 'number') return `must be ${String(minimum)} or more`;
  return minimum === 1 ? 'must not be empty' : `must have at least ${String(minimum)} ${unitOf(origin)}`;
}

const unitOf = (origin: string): string => (origin === 'string' ? 'characters' : 'entries');
