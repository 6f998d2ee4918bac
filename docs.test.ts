// SPDX-License-Identifier: Apache-2.0
/** Pages, code and tests agree: every row of docs/behaviour is named by a test, and every row of a decision table is decided. */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, matchesGlob } from 'node:path';
import { expect, it } from 'vitest';

const root = import.meta.dirname;

/** Programs whose decisions return the row that they come from. */
const programsWithRows = [
  'attacher',
  'resizer',
  'csi-snapshotter',
  'health-monitor',
  'snapshot-controller',
  'snapshot-metadata',
  'data-source-validator',
  'all-in-one',
];

/** The package of a page: where upstream's name begins with `csi-`, the package's does not. */
const packageOf = (page: string): string => page.replace(/^csi-/, '');
const pageOf = (name: string): string => (name === 'snapshotter' ? 'csi-snapshotter' : name);

/** Row ids that a behaviour page lists, as `page#id`. The provisioner and explain have several pages. A case is a list item that begins with the id in bold. */
function documentedCases(): Set<string> {
  const rows = new Set<string>();
  for (const path of globSync('docs/behaviour/*.md', { cwd: root })) {
    const page = basename(path, '.md')
      .replace('provisioner-sources', 'provisioner')
      .replace(/^(rights|doctor|audit|dry-run|tracing|debug-explain)$/, 'explain');
    for (const match of readFileSync(join(root, path), 'utf8').matchAll(/^- \*\*([A-Z]{0,3}\d+[a-z]?)\*\* /gm)) {
      rows.add(`${page}#${match[1]}`);
    }
  }
  return rows;
}

/** Rows of the decision tables of a program's page: table rows that begin with an id. */
function tableRows(program: string): Set<string> {
  const page = readFileSync(join(root, `docs/behaviour/${program}.md`), 'utf8');
  return new Set([...page.matchAll(/^\| ([A-Z]{1,3}\d+[a-z]?) \|/gm)].map((match) => `${program}#${match[1]}`));
}

/** Rows that the sources of a program return. An id occurs in code for no other purpose; comments do not count. */
function decidedRows(program: string): Set<string> {
  const rows = new Set<string>();
  for (const path of globSync(`packages/${packageOf(program)}/src/**/*.ts`, { cwd: root })) {
    if (path.endsWith('.test.ts')) continue;
    const code = readFileSync(join(root, path), 'utf8').replaceAll(/\/\/.*$|\/\*[\s\S]*?\*\//gm, '');
    for (const match of code.matchAll(/'([A-Z]{1,3}\d{1,3}[a-z]?)'/g)) rows.add(`${program}#${match[1]}`);
  }
  return rows;
}

/**
 * Row ids in test titles: page name, hash, ids separated by commas, in square brackets; any number of them in front. In the test of a flow also
 * those that a walk is expected to go through, as `'C12 mark'` or `'M11 M12'`.
 */
function testedRows(): Set<string> {
  const rows = new Set<string>();
  for (const program of programsWithRows) {
    for (const path of globSync(`packages/${packageOf(program)}/src/**/flow.test.ts`, { cwd: root })) {
      for (const [, text = ''] of readFileSync(join(root, path), 'utf8').matchAll(/'([A-Z]{1,3}\d+\b[^']*)'/g)) {
        for (const [row] of text.matchAll(/\b[A-Z]{1,3}\d+\b/g)) rows.add(`${program}#${row}`);
      }
    }
  }
  for (const path of globSync('{packages,e2e,images,charts}/**/*.test.ts', { cwd: root })) {
    if (path.includes('node_modules')) continue;
    for (const match of readFileSync(join(root, path), 'utf8').matchAll(/\[([a-z0-9.-]+)#([A-Za-z0-9, ]+)\]/g)) {
      for (const id of match[2]!.split(',')) rows.add(`${match[1]}#${id.trim()}`);
    }
  }
  return rows;
}

it.each(programsWithRows)('given the decision tables of %s, then the code decides exactly their rows', (program) => {
  const documented = tableRows(program);
  const decided = decidedRows(program);
  expect({
    documentedButNotDecided: [...documented].filter((row) => !decided.has(row)),
    decidedButNotDocumented: [...decided].filter((row) => !documented.has(row)),
  }).toEqual({ documentedButNotDecided: [], decidedButNotDocumented: [] });
});

it('given the cases and rows of docs/behaviour, then tests name exactly these', () => {
  const documented = new Set([...documentedCases(), ...programsWithRows.flatMap((program) => [...tableRows(program)])]);
  const tested = testedRows();
  expect({
    documentedButNotTested: [...documented].filter((row) => !tested.has(row)),
    testedButNotDocumented: [...tested].filter((row) => !documented.has(row)),
  }).toEqual({ documentedButNotTested: [], testedButNotDocumented: [] });
});

/** `A2 to A13` and `16 to 21` as single ids. */
function expanded(text: string): string[] {
  return [...text.matchAll(/\b([A-Z]{0,1})(\d+[a-z]?)(?: to [A-Z]?(\d+))?\b/g)].flatMap(
    ([, letter = '', first = '', last]) =>
      last === undefined
        ? [letter + first]
        : Array.from({ length: Number(last) - Number(first) + 1 }, (_, at) => letter + String(Number(first) + at)),
  );
}

it('given the page about troubleshooting, then the rows that it names are those of the behaviour pages', () => {
  const page = readFileSync(join(root, 'docs/troubleshooting.md'), 'utf8');
  const cases = documentedCases();
  const rows = new Set([
    ...['provisioner', 'provisioner-sources', ...programsWithRows]
      .flatMap((program) => [...tableRows(program)])
      .map((row) => row.split('#')[1]),
    ...[...cases].map((row) => row.split('#')[1]!).filter((id) => /^[A-Z]/.test(id)),
  ]);
  const named = [...page.matchAll(/^\|[^|]*\|(?:[^|]|\\\|)*\| (.*) \|$/gm)].map((match) => match[1]!);
  const lettered = named.flatMap((cell) => expanded(cell).filter((id) => /^[A-Z]/.test(id)));
  const numbered = named.flatMap((cell) =>
    [
      ...cell.matchAll(/\b(runtime|common|attacher|node-driver-registrar|packaging) ((?:\d+[a-z]?(?:, | to )?)+)/g),
    ].flatMap(([, program, ids = '']) => expanded(ids).map((id) => `${program}#${id}`)),
  );
  expect(lettered.length).toBeGreaterThan(50);
  expect(numbered.length).toBeGreaterThan(30);
  expect(lettered.filter((id) => !rows.has(id))).toEqual([]);
  expect(numbered.filter((id) => !cases.has(id))).toEqual([]);
});

it("given the table of upstream's pain in csi-resizer, then a test names each row that is fixed, or the row names its test", () => {
  const page = readFileSync(join(root, 'docs/behaviour/resizer.md'), 'utf8');
  const rows = [...page.matchAll(/^\| (P\d+): [^|]*\| (.*) \|$/gm)].map((match) => [match[1]!, match[2]!] as const);
  const tests = globSync('packages/resizer/src/**/*.test.ts', { cwd: root })
    .map((path) => readFileSync(join(root, path), 'utf8'))
    .join('\n');
  const isProven = (id: string, text: string): boolean => {
    const named = [...text.matchAll(/`([^`]*\.test\.ts)`/g)].map((match) => match[1]!);
    return (
      new RegExp(`\\b${id}\\b`).test(tests) || (named.length > 0 && named.every((path) => existsSync(join(root, path))))
    );
  };
  expect(rows.map(([id]) => id)).toEqual(Array.from({ length: 40 }, (_, index) => `P${index + 1}`));
  expect(rows.filter(([, text]) => !/^(fixed|kept)\b/.test(text))).toEqual([]);
  expect(rows.filter(([id, text]) => text.startsWith('fixed') && !isProven(id, text)).map(([id]) => id)).toEqual([]);
});

/** Comments of all sources with the file that they stand in. A URL is no comment. */
function comments(): readonly { readonly path: string; readonly text: string }[] {
  return globSync('{packages,e2e,bench,images,scripts,charts}/**/*.{ts,mjs}', { cwd: root })
    .filter((path) => !/node_modules|\/(gen|dist)\//.test(path))
    .flatMap((path) => {
      const source = readFileSync(join(root, path), 'utf8');
      const found = source.matchAll(/(?<!:)\/\/.*$|\/\*[\s\S]*?\*\//gm);
      return [...found].map(([text]) => ({ path, text: text.replaceAll(/\n\s*\*?/g, ' ') }));
    });
}

it('given a comment that names a page or a folder of this repository, then that is there', () => {
  const named = comments().flatMap(({ path, text }) =>
    [...text.matchAll(/\b(?:docs|packages|e2e|bench|images|scripts)\/[\w./<>*-]*[\w>*]/g)]
      .map(([target]) => target)
      .filter((target) => !target.includes('<'))
      .map((target) => ({ path, target })),
  );
  expect(named.length).toBeGreaterThan(20);
  const dead = named.filter(({ target }) => globSync(`${target}*`, { cwd: root }).length === 0);
  expect(dead.map(({ path, target }) => `${path}: ${target}`)).toEqual([]);
});

it('given a comment that cites rows, then the page of its package has them', () => {
  const cases = documentedCases();
  const cited = comments().flatMap(({ path, text }) => {
    const program = pageOf(/^packages\/([^/]+)/.exec(path)?.[1] ?? '');
    return [...text.matchAll(/\b[Rr]ows? ((?:[A-Z]{1,3}\d+[a-z]?(?:, | and | to )?)+)/g)].flatMap(([, ids = '']) =>
      // The ends of a range: rows that were dropped leave gaps.
      [...ids.matchAll(/[A-Z]{1,3}\d+[a-z]?/g)].map(([id]) => ({ path, row: `${program}#${id}` })),
    );
  });
  const rows = new Set([
    ...cases,
    ...['provisioner', ...programsWithRows, 'explain'].flatMap((program) => [...tableRows(program)]),
    // The other pages of csi-provisioner.
    ...['-sources', '-topology-capacity'].flatMap((other) =>
      [...tableRows(`provisioner${other}`)].map((row) => row.replace(other, '')),
    ),
  ]);
  expect(cited.length).toBeGreaterThan(20);
  expect(cited.filter(({ row }) => !rows.has(row)).map(({ path, row }) => `${path}: ${row}`)).toEqual([]);
  // Numbers of lists that were never part of this repository.
  const foreign = comments().filter(({ text }) => /\brows? \d+\.\d|\b[Rr]ules? [A-Z]\b|\bflaw \d/.test(text));
  expect(foreign.map(({ path, text }) => `${path}: ${text.slice(0, 100)}`)).toEqual([]);
});

/** What a user reads: operators, driver authors. Pages for contributors are not limited, nor is the way through a package's sources. */
const usersPages = [
  'README.md',
  'docs/{differences,troubleshooting,numbers}.md',
  'docs/operations/*.md',
  'docs/reference/{flags,rbac,drivers,metrics,kubernetes-versions}.md',
  'charts/*/README.md',
];
/** To look something up in, most of it written by `npm run generate`; of a chart's page the values. */
const lookedUp = ['docs/reference/{flags,rbac,drivers,metrics}.md'];
const values = /<!-- values -->[\s\S]*<!-- end of values -->/;
const mostWords = { all: 26_700, lookedUp: 11_000 };

it.each(globSync(usersPages, { cwd: root }))(
  'given %s, which users read, then no cell of a table has more than 160 characters of prose',
  (path) => {
    const rows = readFileSync(join(root, path), 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('|'));
    const prose = (cell: string) => cell.replaceAll(/`[^`]*`|\]\([^)]*\)/g, '').trim();
    const cells = rows.flatMap((row) => row.split(/(?<!\\)\|/));
    expect(cells.filter((cell) => prose(cell).length > 160)).toEqual([]);
  },
);

/** As `wc -w` counts. */
/** Without what the page does not show. */
const wordsOf = (text: string): number =>
  text
    .replaceAll(/<!--[^]*?-->/g, '')
    .split(/\s+/)
    .filter((word) => word !== '').length;

it('given the first page, then it has at most 450 words', () => {
  expect(wordsOf(readFileSync(join(root, 'README.md'), 'utf8'))).toBeLessThanOrEqual(450);
});

it('given what users read, then it has at most 26,700 words, of which at most 11,000 are to look something up', () => {
  const toLookUp = new Set(globSync(lookedUp, { cwd: root }));
  const pages = globSync(usersPages, { cwd: root }).map((path) => {
    const text = readFileSync(join(root, path), 'utf8');
    return { path, all: wordsOf(text), lookedUp: wordsOf(toLookUp.has(path) ? text : (values.exec(text)?.[0] ?? '')) };
  });
  for (const part of ['all', 'lookedUp'] as const) {
    const sum = pages.reduce((total, page) => total + page[part], 0);
    const longest = pages.toSorted((a, b) => b[part] - a[part]).slice(0, 6);
    const named = longest.map((page) => `${page.path} (${page[part]})`).join(', ');
    expect(sum, `${part}: ${sum} words, the longest pages are ${named}`).toBeLessThanOrEqual(mostWords[part]);
  }
});

/** As GitHub makes it from a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

const published = 'packages/runtime';

/** Whether the tarball has the path. What `npm pack` makes in `dist` has a source of the same name. */
function isPublished(path: string): boolean {
  const { files } = JSON.parse(readFileSync(join(root, published, 'package.json'), 'utf8')) as { files: string[] };
  const isNamed = files.some((each) => matchesGlob(path, each) || path === each || path.startsWith(`${each}/`));
  if (!isNamed && !['README.md', 'LICENSE', 'package.json'].includes(path)) return false;
  const made = /^dist\/(.*?)(?:\.d\.ts|\.js)$/.exec(path);
  return existsSync(join(root, published, made === null ? path : `${made[1]}.ts`));
}

it.each(globSync(['README.md', 'docs/*.md'], { cwd: join(root, published) }))(
  'given %s of the published package, then each path that it names is in the package, and it names no script of the repository',
  (page) => {
    const text = readFileSync(join(root, published, page), 'utf8').replaceAll(/\b\w+:\/\/[^\s)]*/g, '');
    const linked = [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)].map(([, path]) => join(dirname(page), path!));
    const folders = readdirSync(join(root, published), { withFileTypes: true }).filter((each) => each.isDirectory());
    const first = new Set(['dist', 'packages', 'e2e', 'bench', ...folders.map(({ name }) => name)]);
    const named = [...text.matchAll(/(?<![\w@./-])[a-z0-9-]+\/[\w./*-]*\w/g)]
      .map(([path]) => path)
      .filter((path) => first.has(path.split('/')[0]!) && !linked.some((link) => link.endsWith(path)));
    expect([...linked, ...named].filter((path) => !isPublished(path))).toEqual([]);
    expect(text).not.toContain('npm run ');
  },
);

it('given a link to a page or a heading of this repository, then that is there', () => {
  const pages = globSync(['*.md', '{docs,charts,bench,packages,e2e,images}/**/*.md'], { cwd: root }).filter(
    (path) => !path.includes('node_modules'),
  );
  const textOf = (path: string): string => readFileSync(join(root, path), 'utf8');
  const anchorsOf = (path: string) =>
    [...textOf(path).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!));
  const links = pages.flatMap((path) =>
    [...textOf(path).matchAll(/\]\((?!\w+:)([^)#\s]*)#?([^)\s]*)\)/g)].map(([, page = '', anchor = '']) => ({
      path,
      target: page === '' ? path : join(dirname(path), page),
      anchor,
    })),
  );
  expect(links.length).toBeGreaterThan(50);
  const dead = links.filter(
    ({ target, anchor }) => !existsSync(join(root, target)) || (anchor !== '' && !anchorsOf(target).includes(anchor)),
  );
  expect(dead.map(({ path, target, anchor }) => `${path}: ${target}#${anchor}`)).toEqual([]);
});
