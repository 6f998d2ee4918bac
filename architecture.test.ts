// SPDX-License-Identifier: Apache-2.0
/**
 * The rules of docs/architecture.md as data, held against every source file. A failure names file, line and rule.
 * What is here: who may import whom, what no file may contain, how files are called. What is not: behaviour.
 */
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { ProgramManifest } from '@csi-sidecars/sidecar';
import { describe, expect, it } from 'vitest';
import { manifests } from './scripts/manifests.ts';

const root = import.meta.dirname;
const scope = '@csi-sidecars/';

const packagesOf = (wanted: ProgramManifest['kind']): readonly string[] =>
  // The package that runs other programs as its parts has doors of its own.
  manifests
    .filter(({ kind, name, commandLine }) => kind === wanted && commandLine === name)
    .map((each) => each.package);
const controllers = packagesOf('controller');
const nodePrograms = packagesOf('node');
const webhooks = packagesOf('webhook');
const services = packagesOf('service');

/** Package -> packages of ours that it may import. `types` entries may be imported with `import type` only. */
const doors: Readonly<Record<string, { readonly may: readonly string[]; readonly types?: readonly string[] }>> = {
  runtime: { may: [] },
  grpc: { may: [], types: ['runtime'] },
  csi: { may: ['grpc'], types: ['runtime'] },
  volume: { may: [], types: ['runtime', 'csi'] },
  sidecar: { may: ['runtime', 'csi'] },
  ...Object.fromEntries(controllers.map((name) => [name, { may: ['runtime', 'csi', 'volume', 'sidecar'] }])),
  // Both are singletons of the cluster. The program of the one can run the other, see docs/adr/0017-validator-beside-snapshot-controller.md.
  'snapshot-controller': { may: ['runtime', 'csi', 'volume', 'sidecar', 'data-source-validator'] },
  ...Object.fromEntries(webhooks.map((name) => [name, { may: ['runtime', 'sidecar'] }])),
  ...Object.fromEntries(services.map((name) => [name, { may: ['runtime', 'grpc', 'csi', 'volume', 'sidecar'] }])),
  ...Object.fromEntries(nodePrograms.map((name) => [name, { may: ['runtime', 'grpc', 'csi', 'sidecar'] }])),
  // What a person runs. No controller imports it.
  explain: { may: ['runtime', 'csi', 'volume', 'sidecar', ...controllers, ...services] },
  'all-in-one': { may: ['runtime', 'csi', 'sidecar', 'explain', ...nodePrograms, ...controllers] },
  'test-driver': { may: ['runtime', 'csi'] },
  sim: { may: ['runtime', 'csi'] },
  world: {
    may: [
      'runtime',
      'csi',
      'volume',
      'sim',
      'test-driver',
      'sidecar',
      'node-driver-registrar',
      'all-in-one',
      ...controllers,
    ],
  },
};

/** Packages whose code is written as a stranger's would be: they use the runtime's door for authors, and not its parts. */
const authors = new Set([...controllers, 'csi', 'volume']);

/** Files of a controller that assemble the process, and so may know `sidecar`. */
const assemblyFiles = new Set(['main.ts', 'program.ts', 'flags.ts', 'manifest.ts', 'dry-run.ts']);
/** Controllers that change nothing but write events, so there is nothing that a dry run would show. */
const withoutDryRun = new Set(['data-source-validator']);
/** Who may ask what a controller would do, through its `./dry-run` door. */
const dryRunPackages = new Set(['explain', 'world']);
/** Where a package's `./testing` door may be used: never in what ships. */
const testOnlyPackages = new Set(['sim', 'test-driver', 'world']);

/** Global access to time, randomness and the network occurs in these files and nowhere else. */
const worldDoors: Readonly<Record<string, readonly string[]>> = {
  'Date.now': ['packages/runtime/src/clock/system-clock.ts'],
  setTimeout: ['packages/runtime/src/clock/system-clock.ts'],
  setInterval: [],
  setImmediate: ['packages/runtime/src/clock/system-clock.ts'],
  'Math.random': [],
  'AbortSignal.any': [],
  'AbortSignal.timeout': [],
};

/**
 * Calls whose promise is dropped by `void`: nothing sees it when it rejects, which ends the process. Each of them needs a
 * reason why it cannot, or a `catch`. Entries are the path and the beginning of the expression.
 */
const droppedPromises: Readonly<Record<string, string>> = {
  'packages/runtime/src/diagnostics/http-connections.ts turnAway': 'its wait is caught',
  'packages/all-in-one/src/main-all.ts runMain': 'the whole program',
  'packages/all-in-one/src/main-commands.ts runMain': 'the whole program',
  'packages/all-in-one/src/main-node.ts runPlainProgram':
    'the whole program: its failure is logged and becomes the exit code',
  'packages/attacher/src/main.ts runMain': 'the whole program',
  'packages/explain/src/port-forward/websocket.ts refusalOf': 'a text that cannot be read is what was read of it',
  'packages/data-source-validator/src/main.ts runMain': 'the whole program',
  'packages/livenessprobe/src/main.ts runPlainProgram': 'the whole program',
  'packages/node-driver-registrar/src/main.ts runPlainProgram': 'the whole program',
  'packages/provisioner/src/main.ts runMain': 'the whole program',
  'packages/health-monitor/src/main.ts runMain': 'the whole program',
  'packages/resizer/src/main.ts runMain': 'the whole program',
  'packages/runtime/src/program/open-cluster.ts informers.start':
    'rejects for a defect only, which ends the process as any unhandled rejection does',
  'packages/snapshot-conversion-webhook/src/main.ts run': 'the whole program',
  'packages/snapshotter/src/main.ts runMain': 'the whole program',
  'packages/snapshot-controller/src/main.ts runMain': 'the whole program',
  'packages/snapshot-metadata/src/main.ts runMain': 'the whole program',
  'packages/csi/src/channel/connection.ts watch': 'waits for a promise that only resolves',
  'packages/runtime/src/lease/election-effects.ts send': 'callLease turns every failure into an answer',
  'packages/runtime/src/lease/election-effects.ts startWork': 'catches what the work throws',
  'packages/runtime/src/lease/election-effects.ts watchLease': 'turns every failure into a change',
  'packages/runtime/src/process/run-process.ts exit': 'catches what flushing throws; nothing is left to end after it',
  'packages/runtime/src/process/run-process.ts runProgram': 'catches what the program throws',
  'packages/runtime/src/api/connection/server-transport.ts connection.destroy': 'only resolves',
  'packages/runtime/src/api/connection/http1-connections.ts open': 'hands what dialing throws to its callback',
  'packages/runtime/src/api/cluster/tls-source.ts new X509Certificate': 'no promise',
  'packages/runtime/src/controller/workers.ts pool.add': 'a reconcile that throws is an outcome',
  'packages/runtime/src/event-recorder/create-event-recorder.ts begin': 'waits for a pause that only resolves',
  'packages/runtime/src/event-recorder/create-event-recorder.ts tryAgain': 'waits for a pause that only resolves',
  'packages/runtime/src/event-recorder/create-event-recorder.ts write': 'catches what writing throws',
  'packages/runtime/src/log/line-writer.ts gathered': 'catches what waiting throws',
  'packages/runtime/src/log/line-writer.ts sink.write': 'no promise: it calls back',
  'packages/sidecar/src/rights/check.ts look': 'catches what asking throws',
  'packages/sidecar/src/process/run-in-process.ts sink.writeSync': 'no promise',
  'packages/sidecar/src/process/run-in-process.ts process.stdout.write': 'no promise',
};
/**
 * Files of controllers that write objects without one of the runtime's functions for that. Each of them needs a reason why a write without
 * an answer leaves no cache from which a later run decides.
 */
const writesWithoutCache: Readonly<Record<string, string>> = {
  'packages/provisioner/src/leftovers/remove.ts': 'a command that reads the cluster and has no cache',
  'packages/provisioner/src/source/source-reads.ts': 'the source is read from the API server before each write',
};
const cachedWrites = /\b(writeObject|changeObject|changeObjectOnce)\b/;

/** Development tools, which may end by a defect. */
const toolPackages = new Set(['sim', 'test-driver', 'world']);

interface Source {
  readonly path: string;
  readonly pkg: string;
  readonly area: 'src' | 'testing' | 'test';
  readonly text: string;
  readonly imports: readonly Import[];
}
interface Import {
  readonly specifier: string;
  readonly line: number;
  readonly typeOnly: boolean;
  readonly dynamic: boolean;
}

function withoutComments(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    .replace(/(^|[\s;{(,])\/\/[^\n]*/g, '$1');
}

function importsOf(text: string): Import[] {
  const found: Import[] = [];
  const lineAt = (index: number): number => text.slice(0, index).split('\n').length;
  for (const match of text.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm)) {
    found.push({ specifier: match[2]!, line: lineAt(match.index), typeOnly: match[1] !== undefined, dynamic: false });
  }
  for (const match of text.matchAll(/\bimport\(\s*'([^']+)'\s*\)/g)) {
    found.push({ specifier: match[1]!, line: lineAt(match.index), typeOnly: false, dynamic: true });
  }
  return found;
}

const sources: readonly Source[] = globSync('packages/*/{src,testing}/**/*.ts', { cwd: root })
  .filter((path) => !path.includes('/gen/') && !path.includes('node_modules'))
  .map((path) => {
    const text = withoutComments(readFileSync(join(root, path), 'utf8'));
    const [, pkg, area] = path.split('/') as [string, string, 'src' | 'testing'];
    return { path, pkg, area: path.endsWith('.test.ts') ? 'test' : area, text, imports: importsOf(text) };
  });
const shipped = sources.filter((source) => source.area === 'src');

function offences(check: (source: Source) => readonly string[], among: readonly Source[] = sources): string[] {
  return among.flatMap((source) => check(source).map((offence) => `${source.path}:${offence}`));
}

describe('doors between packages', () => {
  it('given the import table, then every import of a package of ours is allowed', () => {
    const found = offences((source) =>
      source.imports.flatMap((entry) => {
        if (!entry.specifier.startsWith(scope)) return [];
        const target = entry.specifier.slice(scope.length).split('/')[0]!;
        const door = doors[source.pkg];
        if (door === undefined) return [`${entry.line} package ${source.pkg} has no row in the import table`];
        const allowed =
          target === source.pkg ||
          door.may.includes(target) ||
          (entry.typeOnly && door.types?.includes(target)) ||
          source.area !== 'src';
        return allowed ? [] : [`${entry.line} ${source.pkg} may not import ${entry.specifier}`];
      }),
    );
    expect(found).toEqual([]);
  });

  it('given a package of ours, then it is imported through its door only', () => {
    const found = offences((source) =>
      source.imports.flatMap((entry) => {
        if (!entry.specifier.startsWith(scope)) return [];
        const path = entry.specifier.slice(scope.length).split('/').slice(1).join('/');
        if (path === '' || entry.specifier === `${scope}runtime/webhook`) return [];
        if (entry.specifier === `${scope}runtime/internal` && (!authors.has(source.pkg) || source.area !== 'src'))
          return [];
        if (path === 'dry-run' && dryRunPackages.has(source.pkg)) return [];
        if (path === 'testing' && (source.area !== 'src' || testOnlyPackages.has(source.pkg))) return [];
        return [`${entry.line} deep import ${entry.specifier}`];
      }),
    );
    expect(found).toEqual([]);
  });

  it('given a relative import, then it stays inside its package and does not reach from src into testing', () => {
    const found = offences((source) =>
      source.imports.flatMap((entry) => {
        if (!entry.specifier.startsWith('.')) return [];
        const target = relative(root, resolve(root, dirname(source.path), entry.specifier));
        if (!target.startsWith(`packages/${source.pkg}/`)) return [`${entry.line} leaves its package: ${target}`];
        if (source.area === 'src' && target.startsWith(`packages/${source.pkg}/testing/`)) {
          return [`${entry.line} shipped code imports testing: ${target}`];
        }
        return [];
      }),
    );
    expect(found).toEqual([]);
  });

  it('given a controller, then only its assembly files know the sidecar package', () => {
    const found = offences(
      (source) =>
        controllers.includes(source.pkg) && !assemblyFiles.has(basename(source.path))
          ? source.imports
              .filter((entry) => entry.specifier === `${scope}sidecar`)
              .map((entry) => `${entry.line} imports sidecar outside ${[...assemblyFiles].join(', ')}`)
          : [],
      shipped,
    );
    expect(found).toEqual([]);
  });

  it('given snapshot-controller, then its program alone knows the controller that it can run beside its own', () => {
    const found = shipped
      .filter(({ pkg }) => pkg === 'snapshot-controller')
      .filter(({ imports }) => imports.some(({ specifier }) => specifier === `${scope}data-source-validator`))
      .map(({ path }) => basename(path));
    expect(found).toEqual(['program.ts']);
  });

  it('[explain#87] given the dry run of a controller, then it decides nothing, and the loops are those of the controller', () => {
    const dryRuns = shipped.filter(
      ({ path }) => basename(path) === 'dry-run.ts' && !path.startsWith('packages/runtime/'),
    );
    const expected = controllers.filter((name) => !withoutDryRun.has(name));
    expect(dryRuns.map(({ pkg }) => pkg).toSorted()).toEqual(expected.toSorted());
    for (const { text, imports, path, pkg } of dryRuns) {
      expect(text, path).toMatch(/: \(.*\) => \w+Loops\(/);
      expect(text, path).not.toMatch(/\b(if|switch|for|while)\b \(|function\*|yield|conclude\(/);
      const names = imports.map(({ specifier }) => specifier);
      expect(names, path).toContain(`./${pkg}.ts`);
      expect(
        names.filter((name) => /\/(flow|observe|steps|loop)\.ts$/.test(name)),
        path,
      ).toEqual([]);
    }
  });

  it('given the dry run of a controller, then no other file of its package imports it, so that no bundle has it', () => {
    const found = offences((source) => {
      const own = source.imports.filter(({ specifier }) => specifier.endsWith('/dry-run.ts'));
      return controllers.includes(source.pkg) ? own.map(({ line }) => `${line} imports dry-run.ts`) : [];
    }, shipped);
    expect(found).toEqual([]);
  });

  it('given an npm import, then the package declares it', () => {
    const declared = new Map<string, Set<string>>();
    for (const path of globSync('packages/*/package.json', { cwd: root })) {
      const manifest = JSON.parse(readFileSync(join(root, path), 'utf8')) as Record<string, Record<string, string>>;
      const names = Object.keys({ ...manifest['dependencies'], ...manifest['peerDependencies'] });
      declared.set(path.split('/')[1]!, new Set(names));
    }
    const found = offences(
      (source) =>
        source.imports.flatMap((entry) => {
          if (entry.specifier.startsWith('.') || entry.specifier.startsWith('node:')) return [];
          const name = entry.specifier
            .split('/')
            .slice(0, entry.specifier.startsWith('@') ? 2 : 1)
            .join('/');
          return declared.get(source.pkg)?.has(name) ? [] : [`${entry.line} undeclared dependency ${name}`];
        }),
      shipped,
    );
    expect(found).toEqual([]);
  });

  it('given client-node, then it is imported for its types, or lazily', () => {
    const found = offences(
      (source) =>
        source.imports
          .filter((entry) => entry.specifier.startsWith('@kubernetes/client-node'))
          .filter((entry) => !entry.typeOnly && !entry.dynamic)
          .map((entry) => `${entry.line} static import of client-node`),
      shipped,
    );
    expect(found).toEqual([]);
  });

  it('given all source files, then their imports form no cycle, those of types and those at run time included', () => {
    const files = globSync('{packages/*,e2e,bench,charts,images}/{src,testing}/**/*.ts', { cwd: root });
    const graph = new Map(
      [...files, ...globSync('scripts/**/*.ts', { cwd: root })].map((path) => [
        path,
        importsOf(withoutComments(readFileSync(join(root, path), 'utf8')))
          .filter((entry) => entry.specifier.startsWith('.'))
          .map((entry) => relative(root, resolve(root, dirname(path), entry.specifier))),
      ]),
    );
    const cycles: string[] = [];
    const finished = new Set<string>();
    const visit = (path: string, trail: readonly string[]): void => {
      if (trail.includes(path)) {
        cycles.push([...trail.slice(trail.indexOf(path)), path].join(' -> '));
        return;
      }
      if (finished.has(path)) return;
      for (const next of graph.get(path) ?? []) visit(next, [...trail, path]);
      finished.add(path);
    };
    for (const path of graph.keys()) visit(path, []);
    expect(cycles).toEqual([]);
  });
});

it('given the programs that run on every node, then nothing that they load reaches grpc-js', () => {
  const byPath = new Map(shipped.map((source) => [source.path, source]));
  const entries = ['channel/connect-identity.ts', 'registration/client.ts', 'registration/server.ts'];
  const reached = new Set(entries.map((entry) => `packages/csi/src/${entry}`));
  for (const path of reached) {
    for (const { specifier, typeOnly } of byPath.get(path)?.imports ?? []) {
      if (typeOnly) continue;
      reached.add(specifier.startsWith('.') ? relative(root, resolve(root, dirname(path), specifier)) : specifier);
    }
  }
  expect(reached).toContain('packages/csi/src/channel/node-dial.ts');
  expect([...reached].filter((path) => /grpc-js|proto/.test(path))).toEqual([]);
});

it('given a controller that is built, then its manifest names the capabilities that its code asks for', () => {
  const found = manifests
    .filter(({ kind }) => kind === 'controller')
    .map((manifest) => {
      const code = shipped.filter(({ pkg }) => pkg === manifest.package).map(({ text }) => text);
      const asked = code.flatMap((text) =>
        [...text.matchAll(/Capabilities\.has\('([A-Z_]+)'\)/g)].map((match) => match[1]!),
      );
      return { name: manifest.name, asked: [...new Set(asked)].sort() };
    });
  expect(found).toEqual(
    found.map(({ name }) => {
      const needs = manifests.find((manifest) => manifest.name === name)?.driverNeeds ?? [];
      return { name, asked: needs.map(({ capability }) => capability).sort() };
    }),
  );
});

it('given a path on the page of the rooms, then it is there', () => {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
  const paths = [...page.matchAll(/`((?:packages|docs|e2e|bench|images|scripts)\/[^`]*)`/g)].map((match) => match[1]!);
  expect(paths.length).toBeGreaterThan(30);
  expect(paths.filter((path) => globSync(path, { cwd: root }).length === 0)).toEqual([]);
});

describe('what no file contains', () => {
  it('given time, randomness and composite signals, then they are reached through one file each', () => {
    const found = offences(
      (source) =>
        Object.entries(worldDoors).flatMap(([name, allowed]) => {
          if (allowed.includes(source.path)) return [];
          const pattern = new RegExp(`(?<![\\w.#])${name.replace('.', '\\.')}\\s*\\(`);
          return source.text
            .split('\n')
            .flatMap((line, index) => (pattern.test(line) ? [`${index + 1} uses ${name}`] : []));
        }),
      shipped,
    );
    expect(found).toEqual([]);
  });

  it('given a file of a controller that writes an object, then the cache learns of the answer, or that there was none', () => {
    const isWrite = /\bclient\s*\.(create|update|patch|delete)\b/;
    const found = shipped
      .filter(({ pkg, text }) => controllers.includes(pkg) && isWrite.test(text) && !cachedWrites.test(text))
      .map(({ path }) => path);
    expect(found.sort()).toEqual(Object.keys(writesWithoutCache));
  });

  it('given a call whose promise is dropped, then it is one of those that are known not to reject', () => {
    const found = new Set(
      shipped
        .filter(({ pkg }) => !toolPackages.has(pkg))
        .flatMap(({ path, text }) =>
          // A statement, or the body of an arrow function. As a type, `void` is never followed by a name.
          [...text.matchAll(/\bvoid ((?:new )?[\w.]+|\(async)(?=[(\s])/g)].flatMap(([, call = '']) =>
            // Methods of maps, sets and emitters are no promises.
            /\.(set|delete|on)$/.test(call) ? [] : [`${path} ${call}`],
          ),
        ),
    );
    const known = new Set(Object.keys(droppedPromises));
    expect({
      new: [...found].filter((call) => !known.has(call)),
      gone: [...known].filter((call) => !found.has(call)),
    }).toEqual({ new: [], gone: [] });
  });

  it('given the runtime, which is published for Node.js 22, then it uses no class that Node.js 22 lacks and that the types of Node.js declare', () => {
    const found = offences(({ pkg, area, text }) => {
      const used =
        pkg === 'runtime' && area !== 'test' ? text.match(/\b((Async)?DisposableStack|SuppressedError)\b/g) : null;
      return (used ?? []).map((name) => `uses ${name}`);
    });
    expect(found).toEqual([]);
  });

  it('given a class, then it extends nothing but Error', () => {
    const found = offences(
      (source) =>
        [...source.text.matchAll(/\bclass\s+\w+\s+extends\s+([\w.]+)/g)]
          .filter((match) => match[1] !== 'Error')
          .map((match) => `${source.text.slice(0, match.index).split('\n').length} extends ${match[1]}`),
      shipped,
    );
    expect(found).toEqual([]);
  });

  it('given a source file, then its first line names the licence', () => {
    const found = globSync('{packages,e2e,bench,images,scripts,charts}/**/*.{ts,mjs}', { cwd: root })
      .filter((path) => !/node_modules|\/gen\/|\/dist\/|\.types\.ts$/.test(path))
      .filter((path) => {
        const [first, second] = readFileSync(join(root, path), 'utf8').split('\n', 2);
        const line = first?.startsWith('#!') ? second : first;
        return line !== '// SPDX-License-Identifier: Apache-2.0';
      });
    expect(found).toEqual([]);
  });

  it('given a file name, then it says what is inside', () => {
    const found = globSync('{packages,e2e,bench,images,scripts,charts}/**/*.ts', { cwd: root })
      .filter((path) => !path.includes('node_modules'))
      .filter(
        (path) => /(^|\/)(utils?|helpers?|common|misc)(\.test)?\.ts$/.test(path) || /[A-Z_]/.test(basename(path)),
      );
    expect(found).toEqual([]);
  });
});
