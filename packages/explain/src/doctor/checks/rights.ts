// SPDX-License-Identifier: Apache-2.0
/** Part rights: what the accounts of the sidecars may not do and need, and what they may do that nobody needs. */
import { userOf } from '../../actors/rights.ts';
import { kubectl } from '../../command/printable.ts';
import type { ObjectName, Program } from '../../verdict.ts';
import {
  type Check,
  type CheckId,
  clusterCheck,
  factOf,
  type Judgement,
  type Problem,
  problem,
  type Severity,
  textOf,
} from '../check.ts';
import type { Bound } from '../readings/grants.ts';
import type { Lacking } from '../readings/lacking.ts';
import { isAtLeast, type Sidecar } from '../readings/sidecars.ts';
import { calledBy, ofDriver } from './wording.ts';

interface RightsCheck {
  readonly id: CheckId;
  readonly severity: Severity;
  readonly wrong: string;
  readonly mend?: string;
}

const table: readonly RightsCheck[] = [
  { id: 'rights-1', severity: 'error', wrong: 'csi-provisioner lacks a right that it needs' },
  { id: 'rights-2', severity: 'error', wrong: 'csi-attacher lacks a right that it needs' },
  { id: 'rights-3', severity: 'error', wrong: 'csi-resizer lacks a right that it needs' },
  { id: 'rights-4', severity: 'error', wrong: 'csi-snapshotter lacks a right that it needs' },
  { id: 'rights-5', severity: 'error', wrong: 'snapshot-controller lacks a right that it needs' },
  {
    id: 'rights-6',
    severity: 'error',
    wrong: 'a program that elects a leader may not get, create or update the Lease in the namespace of the election',
    mend: 'move the Role, or set --leader-election-namespace',
  },
  {
    id: 'rights-7',
    severity: 'error',
    wrong: 'csi-resizer may not list pods while --handle-volume-inuse-error is on: no volume grows',
    mend: 'add the rule, or set --handle-volume-inuse-error=false',
  },
  {
    id: 'rights-8',
    severity: 'error',
    wrong:
      'csi-resizer from 2.0 on may not list volumeattributesclasses, or csi-provisioner may not get them while the driver has some',
    mend: 'add the rule, or turn the gate VolumeAttributesClass off',
  },
  {
    id: 'rights-9',
    severity: 'warn',
    wrong: 'a program may not get a secret that a class names',
    mend: 'a Role in that namespace',
  },
  {
    id: 'rights-12',
    severity: 'info',
    wrong: 'a program may not create events: nobody sees its failures in `kubectl describe`',
  },
];

/** From these versions on our tables are known to be right for upstream's programs too; earlier ones, and images without a version, are warned about at most. */
const knownFrom: Readonly<Record<Program, number>> = {
  'csi-provisioner': 5,
  'csi-attacher': 4,
  'csi-resizer': 1,
  'csi-snapshotter': 6,
  'snapshot-controller': 6,
};

function isKnown({ flavour, version, program }: Sidecar): boolean {
  return flavour === 'ours' || isAtLeast(version, knownFrom[program]);
}

const missingRights: readonly Check[] = table.map(({ id, severity, wrong, mend = 'add the rule' }) =>
  clusterCheck({
    id,
    severity,
    wrong,
    mend,
    reads: ['lacking'],
    judge: ({ lacking }) => {
      const own = lacking.filter((each) => each.id === id);
      const groups = Map.groupBy(own, ({ driver, sidecar, account, right, answer }) =>
        [
          answer.kind,
          driver,
          sidecar.program,
          userOf(account),
          right.group,
          right.resource,
          right.namespace,
          right.name,
        ].join(' '),
      );
      return [...groups.values()].map((group) => judged(group, severity));
    },
  }),
);

function judged(group: readonly Lacking[], severity: Severity): Judgement {
  const first = group[0]!;
  const { answer, driver, sidecar, workload, account, right, roles } = first;
  if (answer.kind === 'notKnown') return { kind: 'notKnown', missing: answer.missing };
  const verbs = group.map((each) => each.right.verb);
  const what = right.group === '' ? right.resource : `${right.resource}.${right.group}`;
  const where = right.namespace === undefined ? '' : ` in namespace ${right.namespace}`;
  const named = right.name === undefined ? '' : ` (${right.name})`;
  const who = `${sidecar.program}${ofDriver(driver)}`;
  const elsewhere = placeOf(first);
  const user = userOf(account);
  const isCapped = severity === 'error' && !isKnown(sidecar);
  return problem(`${who} may not ${verbs.join(', ')} ${what}${named}${where}: ${right.without}${elsewhere}`, {
    ...(isCapped && { severity: 'warn' }),
    driver,
    program: sidecar.program,
    objects: [{ kind: 'ServiceAccount', ...account }],
    evidence: [
      factOf(textOf(workload.object), `image of ${sidecar.container.name}`, sidecar.container.image),
      factOf(`ServiceAccount ${account.namespace}/${account.name}`, `${verbs.join(', ')} ${what}${where}`, answer.by),
      ...rolesFact(roles),
    ],
    look: lookAt(verbs[0] ?? 'get', { what, user, namespace: right.namespace }),
    mend: `add group ${right.group === '' ? '""' : right.group}, resource ${right.resource}, verbs ${verbs.join(' ')} to ${roleFor(first)}`,
  });
}

function rolesFact(roles: readonly Bound[] | undefined): Problem['evidence'][number][] {
  if (roles === undefined) return [];
  return [factOf('roles', 'bound to the account', roles.map(({ role }) => textOf(role)).join(', '))];
}

/** The rule may be there, in a Role that holds elsewhere. */
function placeOf({ id, roles = [], right }: Lacking): string {
  if (id !== 'rights-6') return '';
  const other = roles.find(
    ({ namespace, rules }) =>
      namespace !== undefined && namespace !== right.namespace && JSON.stringify(rules).includes('"leases"'),
  );
  return other === undefined ? '' : `; ${textOf(other.role)} grants it in namespace ${other.namespace}`;
}

/** The one that is most likely meant for this program. */
function roleFor({ roles = [], right, sidecar, account }: Lacking): string {
  const kind = right.namespace === undefined ? 'ClusterRole' : 'Role';
  const place = right.namespace === undefined ? '' : ` in namespace ${right.namespace}`;
  const fitting = roles.filter(
    (bound) => bound.role.kind === kind && (kind === 'ClusterRole' || bound.namespace === right.namespace),
  );
  const short = sidecar.program.replace(/^csi-/, '');
  const found = fitting.find(({ role }) => role.name.includes(short)) ?? fitting[0];
  return found === undefined
    ? `a ${kind}${place} of service account ${account.namespace}/${account.name}`
    : `${kind} ${found.role.name}${place}`;
}

function lookAt(
  verb: string,
  { what, user, namespace }: { readonly what: string; readonly user: string; readonly namespace: string | undefined },
): readonly string[] | undefined {
  // Colons are no part of a name, but of the name of an account.
  const isPlain = /^system:serviceaccount:[a-z0-9.-]+:[a-z0-9.-]+$/.test(user);
  const argv = kubectl(['auth', 'can-i', verb, what], [], [`--as=${user}`]);
  const place = namespace === undefined ? [] : kubectl(['-n'], [namespace])?.slice(1);
  return isPlain && argv !== undefined && place !== undefined ? [...argv, ...place] : undefined;
}

const dangerousVerbs = ['escalate', 'bind', 'impersonate'];

const tooMuch: Check = clusterCheck({
  id: 'rights-10',
  severity: 'warn',
  wrong: 'an account may list all secrets, or has every verb, `escalate`, `bind` or `impersonate` in the whole cluster',
  mend: 'narrow the role',
  reads: ['workloads', 'grants'],
  judge: ({ workloads, grants }) => {
    const accounts = new Map<
      string,
      { readonly account: ObjectName; readonly by: string; readonly driver: string | undefined }
    >();
    for (const workload of workloads.all) {
      const { namespace } = workload.object;
      const account = { kind: 'ServiceAccount', namespace, name: workload.account };
      accounts.set(`${namespace}/${workload.account}`, {
        account,
        by: calledBy(workload),
        driver: workloads.driverOf(workload),
      });
    }
    return [...accounts.values()].flatMap(({ account, by, driver }) => {
      const roles = grants.of({ namespace: account.namespace ?? '', name: account.name });
      return roles
        .filter(({ namespace }) => namespace === undefined)
        .flatMap(({ role, rules }) => {
          const excess = rules.map(excessOf).find((each) => each !== undefined);
          if (excess === undefined) return [];
          return problem(
            `service account ${account.namespace}/${account.name}, of ${by}, may ${excess} in the whole cluster`,
            {
              driver,
              objects: [account],
              evidence: [factOf(textOf(role), 'rules', excess), factOf(textOf(account), 'used by', by)],
              look: lookAtRole(role.name),
            },
          );
        });
    });
  },
});

/** Names of roles may have colons. */
function lookAtRole(name: string): readonly string[] | undefined {
  return /^[\w.:-]+$/.test(name) && !name.startsWith('-')
    ? ['kubectl', 'get', 'clusterrole', name, '-o', 'yaml']
    : undefined;
}

function excessOf(rule: unknown): string | undefined {
  const { verbs, resources, apiGroups, resourceNames } = (rule ?? {}) as Readonly<Record<string, unknown>>;
  const has = (list: unknown, ...words: readonly string[]): string | undefined =>
    Array.isArray(list) ? words.find((word) => list.includes(word)) : undefined;
  const dangerous = has(verbs, ...dangerousVerbs);
  if (dangerous !== undefined) return dangerous;
  if (Array.isArray(resourceNames) && resourceNames.length > 0) return undefined;
  if (has(verbs, '*') !== undefined && has(resources, '*') !== undefined) return 'do everything';
  const isSecrets = has(apiGroups, '', '*') !== undefined && has(resources, 'secrets', '*') !== undefined;
  const reading = has(verbs, 'list', 'watch', '*');
  return isSecrets && reading !== undefined ? `${reading === '*' ? 'do everything with' : reading} secrets` : undefined;
}

export const rightsChecks: readonly Check[] = [...missingRights, tooMuch];
