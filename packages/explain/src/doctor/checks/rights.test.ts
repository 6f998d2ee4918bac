// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { leaseRules } from '@csi-sidecars/runtime';
import { add, driver, storageClass } from '../../../testing/cluster.ts';
import { controller, driverContainer, programs, sidecar } from '../../../testing/workloads.ts';
import {
  bindingOf,
  clusterRole,
  installation,
  roleIn,
  ruleTables,
  snapshotControllerSet,
} from '../../../testing/installation.ts';
import { type Case, doctor, reviewing, titleOf } from '../../../testing/examining.ts';
import { clusterRoles, roleBindings, roles } from '../../cluster/kinds.ts';

type Table = keyof typeof ruleTables;

const without = (table: Table, resource: string, verbs: readonly string[] = []) =>
  clusterRole(
    `external-${table}-role`,
    ruleTables[table].map((rule) =>
      rule.resources.includes(resource)
        ? { ...rule, verbs: verbs.length === 0 ? [] : rule.verbs.filter((verb) => !verbs.includes(verb)) }
        : rule,
    ),
  );

const withoutSecrets = (Object.keys(ruleTables) as readonly Table[]).map((table) => without(table, 'secrets'));

/** The programs of the installation, one of them with another container. */
const containersWith = (changed: ReturnType<typeof sidecar>) => [
  driverContainer,
  ...programs.map((program) => (program === changed.name ? changed : sidecar(program))),
];

const withSecret = {
  parameters: {
    'csi.storage.k8s.io/provisioner-secret-name': 's1',
    'csi.storage.k8s.io/provisioner-secret-namespace': 'vault',
  },
};
const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's1', namespace: 'vault' } };

const cases: readonly Case[] = [
  {
    given: 'csi-provisioner that may not create volumes',
    change: (host) => add(host, without('provisioner', 'persistentvolumes', ['create'])),
    found: ['error rights-1'],
  },
  {
    given: 'csi-attacher that may not write the status of attachments',
    change: (host) => add(host, without('attacher', 'volumeattachments/status')),
    found: ['error rights-2'],
  },
  {
    given: 'csi-resizer that may not write the status of claims, and whose image has no version',
    change: (host) => {
      const image = 'registry.example.com/csi-resizer:latest';
      add(host, without('resizer', 'persistentvolumeclaims/status'));
      add(host, controller({ containers: containersWith(sidecar('csi-resizer', [], { image })) }));
    },
    found: ['warn rights-3'],
  },
  {
    given: 'csi-snapshotter that may not write the status of contents',
    change: (host) => add(host, without('snapshotter', 'volumesnapshotcontents/status')),
    found: ['error rights-4'],
  },
  {
    given: 'snapshot-controller that may do nothing',
    change: (host) => add(host, clusterRole('snapshot-controller-role', [])),
    found: ['info rights-12', 'error rights-5'],
  },
  {
    given: '[explain#92] a Role for Leases in one namespace, and an election in another',
    change: (host) => {
      const elected = ['--leader-election-namespace=elsewhere'];
      add(host, controller({ containers: containersWith(sidecar('csi-attacher', elected)) }));
    },
    found: ['error rights-6'],
  },
  {
    given: '[explain#92] a Role for Leases in the namespace of the election',
    change: (host) => {
      const elected = ['--leader-election-namespace=elsewhere'];
      add(host, controller({ containers: containersWith(sidecar('csi-attacher', elected)) }));
      add(host, ...roleIn({ namespace: 'elsewhere', name: 'leases' }, leaseRules));
    },
    found: [],
  },
  {
    given: 'csi-resizer that may not list pods',
    change: (host) => add(host, without('resizer', 'pods', ['list'])),
    found: ['error rights-7'],
  },
  {
    given: 'csi-resizer that may not list pods, and does not want to',
    change: (host) => {
      const args = ['--handle-volume-inuse-error=false'];
      add(host, without('resizer', 'pods', ['list', 'watch']));
      add(host, controller({ containers: containersWith(sidecar('csi-resizer', args)) }));
    },
    found: [],
  },
  {
    given: 'csi-resizer 1.11, which lists no classes of attributes',
    change: (host) => {
      const image = 'registry.k8s.io/sig-storage/csi-resizer:v1.11.0';
      add(host, without('resizer', 'volumeattributesclasses'));
      add(host, controller({ containers: containersWith(sidecar('csi-resizer', [], { image })) }));
    },
    found: [],
  },
  {
    given: 'csi-resizer 2.1 with the gate of these classes off',
    change: (host) => {
      const args = ['--feature-gates=VolumeAttributesClass=false'];
      add(host, without('resizer', 'volumeattributesclasses'));
      add(host, controller({ containers: containersWith(sidecar('csi-resizer', args)) }));
    },
    found: [],
  },
  {
    given: 'a class with a secret that csi-provisioner may not get',
    change: (host) => {
      add(host, storageClass('secret', { volumeBindingMode: 'WaitForFirstConsumer', ...withSecret }), secret);
      add(host, ...withoutSecrets);
    },
    found: ['warn rights-9'],
  },
  {
    given: 'a class with a secret that csi-provisioner may get by a Role of its namespace',
    change: (host) => {
      add(host, storageClass('secret', { volumeBindingMode: 'WaitForFirstConsumer', ...withSecret }), secret);
      add(host, ...withoutSecrets);
      add(
        host,
        ...roleIn({ namespace: 'vault', name: 'secret' }, [
          { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
        ]),
      );
    },
    found: [],
  },
  {
    given: 'an account that may list secrets everywhere',
    change: (host) => {
      add(
        host,
        clusterRole('wide', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list'] }]),
        bindingOf('wide'),
      );
    },
    found: ['warn rights-10'],
  },
  {
    given: 'an account that may impersonate',
    change: (host) => {
      add(
        host,
        clusterRole('wide', [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'] }]),
        bindingOf('wide'),
      );
    },
    found: ['warn rights-10'],
  },
  {
    given: 'an account that may list the secrets of its own namespace',
    change: (host) =>
      add(
        host,
        ...roleIn({ namespace: 'storage', name: 'own' }, [
          { apiGroups: [''], resources: ['secrets'], verbs: ['list'] },
        ]),
      ),
    found: [],
  },
];

it.each(cases.map((each) => [titleOf(each), each] as const))('%s', async (_, { change, found, args }) => {
  const host = installation();
  change(host);
  expect((await doctor(host, args)).found.toSorted()).toEqual(found.toSorted());
});

it('[explain#90] given csi-resizer 2.3 with the ClusterRole of 1.11, when examined, then the rule that is missing and the name of the role are reported', async () => {
  const host = installation();
  const image = 'registry.k8s.io/sig-storage/csi-resizer:v2.3.0';
  add(host, without('resizer', 'volumeattributesclasses'));
  add(host, controller({ containers: containersWith(sidecar('csi-resizer', [], { image })) }));
  const { code, document, found } = await doctor(host);
  expect([code, found]).toEqual([4, ['error rights-8']]);
  expect(document.findings[0]).toMatchObject({
    driver,
    program: 'csi-resizer',
    mend: 'add group storage.k8s.io, resource volumeattributesclasses, verbs list watch to ClusterRole external-resizer-role',
    look: [
      'kubectl',
      'auth',
      'can-i',
      'list',
      'volumeattributesclasses.storage.k8s.io',
      '--as=system:serviceaccount:storage:sidecars',
    ],
  });
  expect(document.findings[0]?.evidence.length).toBeGreaterThanOrEqual(2);
});

const reading = [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list'] }];
const withoutRoles = [
  {
    apiGroups: ['', 'apps', 'storage.k8s.io', 'coordination.k8s.io', 'snapshot.storage.k8s.io'],
    resources: ['*'],
    verbs: ['*'],
  },
  { apiGroups: ['apiextensions.k8s.io', 'discovery.k8s.io'], resources: ['*'], verbs: ['*'] },
];

it('[explain#91] given no right to ask for the rights of others, when examined, then roles decide; without roles too, nothing is concluded', async () => {
  const byRoles = installation({ rules: reading });
  add(byRoles, without('resizer', 'volumeattributesclasses'));
  const resolved = await doctor(byRoles);
  expect([resolved.code, resolved.found]).toEqual([4, ['error rights-8']]);
  const blind = installation({ rules: withoutRoles });
  add(blind, without('resizer', 'volumeattributesclasses'));
  const { code, found, document } = await doctor(blind);
  expect([code, found]).toEqual([5, []]);
  const lacking = document.notRun.find(({ id }) => id === 'rights-8')?.missing;
  expect(lacking?.[0]).toMatchObject({ verb: 'create', resource: 'subjectaccessreviews', because: 'forbidden' });
});

it('[explain#93] given an authorizer without an opinion, which has failed, when examined, then the check is not run', async () => {
  const host = installation({ intercept: reviewing(() => undefined) });
  add(host, without('resizer', 'volumeattributesclasses'));
  const { code, found, document } = await doctor(host, ['--only=rights']);
  expect([code, found, document.notRun.map(({ id }) => id)]).toEqual([5, [], ['rights-8']]);
});

it.each([
  [true, 0, []],
  [false, 4, ['error rights-8']],
])(
  'given roles without the rule, and a server that answers %s, when examined, then the server is believed',
  async (isAllowed, code, found) => {
    const asked: string[] = [];
    const decide = ({ verb, resource }: { readonly verb: string; readonly resource: string }): boolean => {
      asked.push(`${verb} ${resource}`);
      return isAllowed;
    };
    const host = installation({ intercept: reviewing(decide) });
    add(host, without('resizer', 'volumeattributesclasses'));
    const examined = await doctor(host, ['--only=rights']);
    expect([examined.code, examined.found]).toEqual([code, found]);
    // What roles grant is not asked for.
    expect(asked).toEqual(['list volumeattributesclasses', 'watch volumeattributesclasses']);
  },
);

it('given roles that are gone, bound to nobody, or without rules, when examined, then they grant nothing', async () => {
  const host = installation();
  host.server.objects.remove(clusterRoles, { name: 'external-attacher-role' });
  for (const resource of [roles, roleBindings])
    host.server.objects.remove(resource, { namespace: 'storage', name: 'snapshot-leases' });
  add(host, { ...bindingOf('odd'), subjects: null }, { ...clusterRole('odd', []), rules: null });
  const { found } = await doctor(host, ['--only=rights']);
  expect(new Set(found)).toEqual(new Set(['error rights-2', 'error rights-6']));
});

it('given a controller that elects nobody, when examined, then it needs no Lease', async () => {
  const host = installation();
  for (const resource of [roles, roleBindings])
    host.server.objects.remove(resource, { namespace: 'storage', name: 'snapshot-leases' });
  add(
    host,
    snapshotControllerSet({ containers: [{ name: 'snapshot-controller', image: 'snapshot-controller:v8.4.0' }] }),
  );
  expect((await doctor(host, ['--only=rights'])).found).toEqual([]);
});
