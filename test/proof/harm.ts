// What markup did that others wrote into a page of ours, as the browser saw it.
import type { Person } from './chromium.ts';

/** Scripts of the markup set `ran`; and every part of a page of ours is one of these, with nothing that listens. */
const FIND_HARM = `(() => {
  const found = globalThis.ran === undefined ? [] : ['ran'];
  const ours = new Set('html head meta title link body main h1 p dl dt dd form input button label a ul li span bdi div br time'.split(' '));
  for (const element of document.querySelectorAll('*')) {
    if (!ours.has(element.localName)) found.push('a ' + element.localName);
    for (const { name, value } of element.attributes) {
      if (/^on|^style$|^srcdoc$|^http-equiv$/i.test(name)) found.push(element.localName + ' with ' + name);
      if (/^(?:href|src|action|formaction)$/i.test(name) && !/^(?:https?:$)/.test(new URL(value, location.href).protocol)) found.push(name + ' to ' + value);
      if (/^(?:action|formaction)$/i.test(name) && new URL(value, location.href).origin !== location.origin) found.push('a form to ' + value);
    }
  }
  return found;
})()`;

/** Empty when nothing ran, nothing of the markup became part of the page, and no rule of the page was broken. */
export async function harmIn(person: Person): Promise<readonly string[]> {
  const found = (await person.evaluate(FIND_HARM)) as readonly string[];
  // Pages with an error status are mentioned by the console anyway.
  const complaints = person
    .complaintsAt(new URL(person.page.url()).origin)
    .filter((text) => !text.startsWith('Failed to load resource'));
  return [...found, ...complaints];
}
