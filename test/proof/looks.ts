// What makes a page hard to read or to use, as a script finds it: a photograph shows only whoever looks at it.
import type { Person } from './chromium.ts';

/** Contrast as WCAG 2.2 §1.4.3 counts it, and targets that a finger can hit. */
const FIND_FAULTS = `(() => {
  const faults = [];
  const channel = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (color) => {
    const [r, g, b] = numbers(color).map((value) => channel(value / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const groundOf = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const color = getComputedStyle(one).backgroundColor;
      if (numbers(color)[3] !== 0) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push('wider than the window');
  if (!root.lang) faults.push('no language');
  if (document.querySelectorAll('h1').length !== 1) faults.push('not one heading');
  for (const element of document.querySelectorAll('main *')) {
    const box = element.getBoundingClientRect();
    if (box.width === 0) continue;
    if (element.tagName === 'BUTTON' && box.height < 44) faults.push('a low button: ' + element.innerText);
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    const [text, ground] = [light(getComputedStyle(element).color), light(groundOf(element))];
    const contrast = (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
    if (contrast < 4.5) faults.push('faint (' + contrast.toFixed(1) + '): ' + element.innerText.slice(0, 40));
  }
  return faults;
})()`;

export async function faultsOf(person: Person): Promise<unknown> {
  return person.evaluate(FIND_FAULTS);
}
