// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { expect, it } from 'vitest';

const folder = join(import.meta.dirname, '../..');

function run(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['src/cli/main.ts', ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, stdout, last: stderr.trimEnd().split('\n').at(-1) };
}

it('given a module with a controller, then its manifests are printed for the namespace of its name, or for another one', () => {
  const placesOf = (...flags: readonly string[]) => {
    const { stdout } = run('manifests', 'example/owner-labels.ts', '--image=r/o:v1', ...flags);
    return (loadAll(stdout) as { kind: string; metadata: { namespace?: string }; spec?: { replicas: number } }[]).map(
      ({ kind, metadata, spec }) => [kind, metadata.namespace, spec?.replicas].filter((part) => part !== undefined),
    );
  };
  const inNamespace = (namespace: string, replicas: number) => [
    ['ServiceAccount', namespace],
    ['ClusterRole'],
    ['ClusterRoleBinding'],
    ['Role', namespace],
    ['RoleBinding', namespace],
    ['PodDisruptionBudget', namespace],
    ['Deployment', namespace, replicas],
  ];
  expect(placesOf()).toEqual(inNamespace('owner-labels', 2));
  expect(placesOf('--namespace=labels', '--replicas=3')).toEqual(inNamespace('labels', 3));
});

it('given a module with webhooks, then their configuration is printed as well, with the issuers of a file if one is given', () => {
  const configurationOf = (...flags: readonly string[]) => {
    const { stdout } = run('manifests', 'example/websites.ts', '--image=r/w:v1', ...flags);
    return loadAll(stdout).at(-1);
  };
  expect(configurationOf()).toMatchObject({
    kind: 'ValidatingWebhookConfiguration',
    metadata: { annotations: { 'cert-manager.io/inject-ca-from': 'websites/websites-webhooks' } },
    webhooks: [{ name: 'pages.websites.example.com', rules: [{ apiGroups: ['example.com'] }] }],
  });
  expect(configurationOf('--ca=package.json')).toMatchObject({
    metadata: { name: 'websites' },
    webhooks: [{ clientConfig: { caBundle: readFileSync(join(folder, 'package.json')).toString('base64') } }],
  });
});

it.each(
  globSync('example/*.ts', { cwd: folder }).filter((path) =>
    readFileSync(join(folder, path), 'utf8').includes('runController('),
  ),
)(
  'given the module %s with a controller, then it is loaded and not started, and its role allows its writes',
  (path) => {
    const { status, stdout, last } = run('manifests', path, '--image=r/o:v1');
    const objects = loadAll(stdout) as { kind: string; rules?: readonly { readonly verbs: readonly string[] }[] }[];
    const written = objects.flatMap(({ kind, rules = [] }) => (kind === 'ClusterRole' ? rules : []));
    expect({ status, last }).toEqual({ status: 0, last: '' });
    expect(written.flatMap(({ verbs }) => verbs)).toContain('patch');
  },
);

it.each([
  [[], 'a command must be given'],
  [['play'], 'there is no command play'],
  [['types'], 'exactly one file must be given'],
  [['types', 'a', 'b'], 'exactly one file must be given'],
  [
    ['types', '--odd', 'a'],
    "Unknown option '--odd'. To specify a positional argument starting with a '-', place it at the end of the command after '--', as in '-- \"--odd\"",
  ],
  [['manifests', 'a.ts'], '--image must be given'],
  [['manifests', 'a.ts', '--image=i', '--replicas=-1'], '--replicas must be a number'],
])('given the wrong command %j, then the usage and the reason are printed, and the exit code is 2', (args, reason) => {
  expect(run(...args)).toEqual({ status: 2, stdout: '', last: `csi-runtime: ${reason}` });
});

it.each([
  [['types', 'absent.yaml'], "ENOENT: no such file or directory, open 'absent.yaml'"],
  [['types', 'package.json'], 'the file has no CustomResourceDefinition'],
  [
    ['manifests', 'src/cli/manifests.ts', '--image=i'],
    'the module exports no `controller`: the options of runController, with a name and loops',
  ],
])('given what cannot be made, %j, then the reason is printed, and the exit code is 1', (args, reason) => {
  expect(run(...args)).toEqual({ status: 1, stdout: '', last: `csi-runtime: ${reason}` });
});

it.each([[['--help']], [['help']], [['types', '--help']], [['manifests', 'a.ts', '-h']]])(
  'given the arguments %j, then the usage is printed',
  (args) => {
    const { status, stdout, last } = run(...args);
    expect({ status, first: stdout.split('\n')[0], last }).toEqual({
      status: 0,
      first: 'csi-runtime types FILE',
      last: '',
    });
  },
);

it('given --help as the name of a file, then it is read', () => {
  expect(run('types', '--', '--help').last).toBe("csi-runtime: ENOENT: no such file or directory, open '--help'");
});
