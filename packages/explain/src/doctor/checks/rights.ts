// SPDX-License-Identifier: Apache-2.0
/** Part rights: what the accounts of the sidecars may not do and need, and what they may do that nobody needs. */
import { shortNameOf } from '../../actors/programs.ts';
import { userOf } from '../../actors/rights.ts';
import type { WantedRight } from '@csi-sidecars/sidecar';
import { kubectl } from '../../command/printable.ts';
import type { ObjectName, Program, Service } from '../../verdict.ts';
import { type Check, clusterCheck, factOf, type Judgement, type Problem, problem, textOf } from '../check.ts';
import { isAtLeast, type Sidecar } from '../readings/sidecars.ts';
import { calledBy, ofDriver } from './wording.ts';
import type { Bound, Lacking } from '../readings/facts.ts';
import type { CheckId, Severity } from '../ids.ts';

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
  {
    id: 'rights-13',
    severity: 'error',
    wrong: 'csi-external-health-monitor-controller lacks a right that it needs',
  },
  { id: 'rights-14', severity: 'error', wrong: 'volume-data-source-validator lacks a right that it needs' },
  { id: 'rights-15', severity: 'error', wrong: 'csi-snapshot-metadata lacks a right that it needs' },
];

/** From these versions on our tables are known to be right for upstream's programs too; earlier ones, and images without a version, are warned about at most. */
const knownFrom: Readonly<Record<Program | Service, readonly [major: number, minor: number]>> = {
  'csi-provisioner': [5, 0],
  'csi-attacher': [4, 0],
  'csi-resizer': [1, 0],
  'csi-snapshotter': [6, 0],
  // Earlier ones watch nodes and pods, and write no status.
  'csi-external-health-monitor-controller': [0, 19],
  'snapshot-controller': [6, 0],
  'volume-data-source-validator': [1, 0],
  'csi-snapshot-metadata': [1, 0],
};

function isKnown({ flavour, version, program }: Sidecar): boolean {
  return flavour === 'ours' || isAtLeast(version, ...knownFrom[program]);
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
      const groups = Map.groupBy(own, ({ driver, sidecar, account, answer }) =>
        [answer.kind, driver, sidecar.program, userOf(account)].join(' '),
      );
      return [...groups.values()].map((group) => judged(group, severity));
    },
  }),
);

function judged(group: readonly Lacking[], severity: Severity): Judgement {
  const first = group[0]!;
  const { answer, driver, sidecar, workload, account, right, roles } = first;
  if (answer.kind === 'notKnown') return { kind: 'notKnown', missing: answer.missing };
  const lacked = [...Map.groupBy(group, placeKey).values()];
  const phrases = lacked.map((each) => phraseOf(each));
  const more = phrases.length > mostPhrases ? `, and ${phrases.length - mostPhrases} more` : '';
  const what = phrases.slice(0, mostPhrases).join(', nor ');
  const user = userOf(account);
  const isCapped = severity === 'error' && !isKnown(sidecar);
  return problem(`${sidecar.program}${ofDriver(driver)} may not ${what}${more}: ${right.without}${elsewhere(first)}`, {
    ...(isCapped && { severity: 'warn' }),
    driver,
    program: sidecar.program,
    objects: [{ kind: 'ServiceAccount', ...account }],
    evidence: [
      factOf(textOf(workload.object), `image of ${sidecar.container.name}`, sidecar.container.image),
      factOf(`ServiceAccount ${account.namespace}/${account.name}`, phrases[0] ?? '', answer.by),
      ...rolesFact(roles),
    ],
    look: lookAt(right, user),
    mend: `add ${lacked.map((each) => ruleOf(each)).join('; ')}`,
  });
}

const mostPhrases = 3;

function placeKey({ right }: Lacking): string {
  return `${right.group} ${right.resource} ${right.namespace}`;
}

function resourceOf({ group, resource }: WantedRight): string {
  return group === '' ? resource : `${resource}.${group}`;
}

/** `list, watch nodes`. */
function phraseOf(group: readonly Lacking[]): string {
  const { right } = group[0]!;
  const names = [...new Set(group.flatMap((each) => each.right.name ?? []))];
  const named = names.length === 0 ? '' : ` (${names.join(', ')})`;
  const where = right.namespace === undefined ? '' : ` in namespace ${right.namespace}`;
  return `${verbsOf(group).join(', ')} ${resourceOf(right)}${named}${where}`;
}

function verbsOf(group: readonly Lacking[]): readonly string[] {
  return [...new Set(group.map(({ right }) => right.verb))];
}

function ruleOf(group: readonly Lacking[]): string {
  const first = group[0]!;
  const { group: apiGroup, resource } = first.right;
  return `group ${apiGroup === '' ? '""' : apiGroup}, resource ${resource}, verbs ${verbsOf(group).join(' ')} to ${roleFor(first)}`;
}

function rolesFact(roles: readonly Bound[] | undefined): Problem['evidence'][number][] {
  if (roles === undefined) return [];
  return [factOf('roles', 'bound to the account', roles.map(({ role }) => textOf(role)).join(', '))];
}

/** The rule may be there, in a Role that holds elsewhere. */
function elsewhere({ id, roles = [], right }: Lacking): string {
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
  const short = shortNameOf(sidecar.program);
  const found = fitting.find(({ role }) => role.name.includes(short)) ?? fitting[0];
  return found === undefined
    ? `a ${kind}${place} of service account ${account.namespace}/${account.name}`
    : `${kind} ${found.role.name}${place}`;
}

function lookAt(right: WantedRight, user: string): readonly string[] | undefined {
  // Colons are no part of a name, but of the name of an account.
  const isPlain = /^system:serviceaccount:[a-z0-9.-]+:[a-z0-9.-]+$/.test(user);
  const [resource = '', part] = right.resource.split('/');
  const argv = kubectl(['auth', 'can-i', right.verb, resourceOf({ ...right, resource })], [], [`--as=${user}`]);
  const place = right.namespace === undefined ? [] : kubectl(['-n'], [right.namespace])?.slice(1);
  if (!isPlain || argv === undefined || place === undefined) return undefined;
  return [...argv, ...(part === undefined ? [] : [`--subresource=${part}`]), ...place];
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
