// SPDX-License-Identifier: Apache-2.0
/** The public workflows run where these tests do not; what they name must be here, and what they fetch must be pinned. */
import { accessSync, constants, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const workflows = globSync('.github/workflows/*.yml', { cwd: root }).map((path) => ({
  path,
  text: readFileSync(join(root, path), 'utf8'),
}));
const scripts = globSync('.github/*.sh', { cwd: root });

interface Job {
  readonly permissions?: unknown;
  readonly 'timeout-minutes'?: number;
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
}
const parsed = workflows.map(({ path, text }) => ({
  path,
  content: load(text) as { readonly permissions?: object; readonly jobs: Readonly<Record<string, Job>> },
}));

it('given an action, then it is pinned by the hash of a commit, and a comment names its version', () => {
  const uses = workflows.flatMap(({ text }) => [...text.matchAll(/uses: (.*)$/gm)].map((match) => match[1]!));
  expect(uses.length).toBeGreaterThan(5);
  expect(uses.filter((text) => !/^[\w-]+(?:\/[\w-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(text))).toEqual([]);
});

it('given an action in several places, then it is the same commit everywhere', () => {
  const commits = new Map<string, Set<string>>();
  for (const [, name = '', commit = ''] of workflows.flatMap(({ text }) => [
    ...text.matchAll(/uses: ([^@\s]+)@(\S+)/g),
  ])) {
    commits.set(name, (commits.get(name) ?? new Set()).add(commit));
  }
  expect([...commits].filter(([, found]) => found.size > 1)).toEqual([]);
});

it('given a workflow, then it may only read the repository, unless a job says otherwise', () => {
  for (const { path, content } of parsed) expect([path, content.permissions]).toEqual([path, { contents: 'read' }]);
});

it('given a package whose manifest is private until it is packed, then the release publishes the packed file, since npm skips a private workspace without an error', () => {
  const { jobs } = parsed.find(({ path }) => path.endsWith('release.yml'))!.content;
  const commands = jobs['npm']!.steps.map(({ run = '' }) => run).join('\n');
  const manifest = JSON.parse(readFileSync(join(root, 'packages/runtime/package.json'), 'utf8')) as object;
  expect(manifest).toMatchObject({ name: '@csi-sidecars/runtime', private: true });
  const published = [...commands.matchAll(/^npm publish (.*)$/gm)].map((match) => match[1]!);
  expect(published).toEqual([expect.stringMatching(/^"\$RUNNER_TEMP\/csi-sidecars-runtime-\S+\.tgz" --provenance /)]);
  expect(commands).toMatch(/npm pack --workspace @csi-sidecars\/runtime --pack-destination "\$RUNNER_TEMP"/);
});

it('given a command of a workflow, then its npm scripts and its own scripts are there', () => {
  const { scripts: known } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  const commands = parsed
    .flatMap(({ content }) => Object.values(content.jobs).flatMap(({ steps }) => steps.map(({ run = '' }) => run)))
    .join('\n');
  const named = [...commands.matchAll(/npm run ([\w-]+)/g)].map((match) => match[1]!);
  expect(named.length).toBeGreaterThan(3);
  expect(named.filter((name) => known[name] === undefined)).toEqual([]);
  const own = [...commands.matchAll(/\.github\/[\w-]+\.sh/g)].map(([path]) => path);
  expect(new Set(own)).toEqual(new Set(scripts));
  for (const path of scripts) expect(() => accessSync(join(root, path), constants.X_OK)).not.toThrow();
});

it('given the commands of the page about security that verify a release, then they ask for what the release signs, by the workflow that signs it', () => {
  const page = readFileSync(join(root, 'docs/operations/security.md'), 'utf8');
  const release = workflows.find(({ path }) => path.endsWith('release.yml'))!;
  const publish = readFileSync(join(root, '.github/publish-images.sh'), 'utf8');
  const identities = [...page.matchAll(/--certificate-identity=(\S+)/g)].map((match) => match[1]);
  expect(new Set(identities)).toEqual(new Set([`https://github.com/OWNER/REPO/${release.path}@refs/tags/v1.2.3`]));
  expect(page).toContain(`--signer-workflow OWNER/REPO/${release.path}`);
  const kinds = (text: string): readonly string[] => [...text.matchAll(/ --type (\w+)/g)].map((match) => match[1]!);
  expect(kinds(page)).toEqual(kinds(publish));
  // Images by the script, with the documents of each platform; charts and provenance by the workflow.
  expect(publish).toContain('cosign sign --yes --recursive "$registry/$name@$digest"');
  expect(release.text).toContain('cosign sign --yes "${REGISTRY,,}/charts/$name@$digest"');
  expect(release.text).toMatch(/uses: actions\/attest@[^]*subject-checksums: dist\/images\/subjects\.txt/);
  // Only a tag starts it, so the identity ends in one.
  expect(release.text).toMatch(/^on:\n {2}push:\n {4}tags: /m);
});

it('given the scopes that a title may have, then each package is one of them', () => {
  const { jobs } = load(readFileSync(join(root, '.github/workflows/title.yml'), 'utf8')) as {
    readonly jobs: { readonly title: { readonly steps: readonly { readonly with: { readonly scopes: string } }[] } };
  };
  const scopes = jobs.title.steps[0]!.with.scopes.trim().split('\n');
  const packages = globSync('packages/*', { cwd: root }).map((path) => path.split('/')[1]!);
  expect(scopes).toEqual(expect.arrayContaining(packages));
  expect(scopes).toEqual(scopes.toSorted());
});

it('given the files that a release raises, then they have the version of the repository', () => {
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  const { version } = JSON.parse(read('package.json')) as { readonly version: string };
  const { packages } = JSON.parse(read('.github/release-please.json')) as {
    readonly packages: { readonly '.': { readonly 'extra-files': readonly (string | { readonly path: string })[] } };
  };
  const files = packages['.']['extra-files'].map((file) => (typeof file === 'string' ? file : file.path));
  expect(files).toContain('charts/csi-driver/Chart.yaml');
  for (const file of files) expect([file, read(file).includes(version)]).toEqual([file, true]);
  expect(JSON.parse(read('.github/release-please-manifest.json'))).toEqual({ '.': version });
});

it('given what the images are said not to be affected by, then Node.js does not import the function, and each statement says why', () => {
  const { statements } = JSON.parse(readFileSync(join(root, '.github/vex.json'), 'utf8')) as {
    readonly statements: readonly { readonly justification: string; readonly impact_statement: string }[];
  };
  const program = readFileSync(join(root, 'node_modules/node/bin/node'));
  const imported = (name: string): boolean => program.includes(`\0${name}\0`);
  expect([imported('getaddrinfo'), imported('regcomp'), imported('regexec')]).toEqual([true, false, false]);
  for (const { justification, impact_statement: why } of statements) {
    expect(['vulnerable_code_not_in_execute_path', 'component_not_present']).toContain(justification);
    expect(why.length).toBeGreaterThan(20);
  }
});
