// The look of the sign-in pages, served as a file of its own because the pages allow no inline style.

export const STYLESHEET = `:root {
  color-scheme: light dark;
  --page: #f4f5f7; --card: #ffffff; --text: #1c1f24; --soft: #56606e; --line: #c9d0d9; --accent: #1f5fd0; --on-accent: #ffffff; --bad: #a3261b; --bad-page: #fdeceb;
}
@media (prefers-color-scheme: dark) {
  :root { --page: #14171c; --card: #1e232b; --text: #eceff4; --soft: #a9b3c1; --line: #454f5d; --accent: #86b1ff; --on-accent: #0b1a33; --bad: #ffb0a8; --bad-page: #3b1f1d; }
}
* { box-sizing: border-box; }
body { margin: 0; padding: 1rem; background: var(--page); color: var(--text); font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 32rem; margin: 8vh auto 2rem; padding: 1.75rem; background: var(--card); border: 1px solid var(--line); border-radius: 0.75rem; }
h1 { margin: 0 0 1rem; font-size: 1.4rem; line-height: 1.25; overflow-wrap: anywhere; }
p { margin: 0 0 1rem; overflow-wrap: anywhere; }
main > :last-child { margin-bottom: 0; }
bdi { unicode-bidi: isolate; }
dl { margin: 0 0 1.25rem; padding: 0.75rem 1rem; border: 1px solid var(--line); border-radius: 0.5rem; }
dt { color: var(--soft); font-size: 0.875rem; }
dd { margin: 0 0 0.5rem; font-weight: 600; overflow-wrap: anywhere; }
dd:last-child { margin-bottom: 0; }
label { display: block; margin-bottom: 0.375rem; font-weight: 600; }
input { width: 100%; min-height: 2.75rem; padding: 0.5rem 0.75rem; border: 1px solid var(--soft); border-radius: 0.5rem; background: var(--card); color: inherit; font: inherit; }
ul { margin: 0; padding-left: 1.1rem; }
.soft { color: var(--soft); font-size: 0.875rem; font-weight: 400; }
button, .button { display: inline-block; margin-top: 1rem; min-height: 2.75rem; padding: 0.5rem 1.25rem; border: 0; border-radius: 0.5rem; background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 600; text-decoration: none; cursor: pointer; }
button.quiet { border: 1px solid var(--soft); background: transparent; color: var(--text); font-weight: 400; }
a { color: var(--accent); }
a.button { color: var(--on-accent); line-height: 1.75rem; margin-top: 0; }
.rows { margin: 0 0 1rem; padding: 0; list-style: none; border-top: 1px solid var(--line); }
.rows li { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: center; justify-content: space-between; padding: 0.75rem 0; border-bottom: 1px solid var(--line); }
.rows li div { flex: 1 1 12rem; min-width: 0; font-weight: 600; overflow-wrap: anywhere; }
.rows button { margin-top: 0; }
.footer { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: center; justify-content: space-between; }
.footer .soft { flex: 1 1 12rem; min-width: 0; overflow-wrap: anywhere; }
.footer button { margin-top: 0; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
.note { margin: 1.25rem 0 0; color: var(--soft); font-size: 0.875rem; }
.problem { padding: 0.75rem 1rem; border-radius: 0.5rem; background: var(--bad-page); color: var(--bad); }
`;
