// SPDX-License-Identifier: Apache-2.0
/**
 * The programs under test of one scenario: each runs with a kubeconfig with a bound token of a ServiceAccount that has
 * the rules of the chosen profile, and with nothing else in its environment.
 */
import { join } from 'node:path';
import type { PolicyRule } from '@csi-sidecars/runtime';
import { kubeconfigOf } from '../accounts/kubeconfig-of.ts';
import type { ServiceAccountRef } from '../control-planes/control-plane.ts';
import { findProgram, type ControllerName } from '../processes/program.ts';
import { supervise, type SupervisedProcess } from '../processes/supervised-process.ts';
import { applyRbac, removeBindings } from '../rbac/apply.ts';
import {
  accountOf,
  combinedRbac,
  extraRules,
  rbacObjects,
  type ElectedSubject,
  type RbacObject,
} from '../rbac/profiles.ts';
import type { Environment } from '../tools/locate.ts';
import { underHostName, type TestRun } from './test-run.ts';

export interface SidecarOptions {
  /** Words in front of its flags. */
  readonly words?: readonly string[];
  /** Arguments in addition to the connection settings, which every program gets. */
  readonly args?: readonly string[];
  /** The name of a replica: it gets its own host name, and so its own identity (needs `host-names`). */
  readonly replica?: string;
  /** Environment variables in addition. */
  readonly env?: Environment;
  /** The driver's socket on one of its nodes. Default: that of the controller. */
  readonly socket?: string;
  /** Address of the API server instead of the control plane's. */
  readonly server?: string;
  /** The ServiceAccount instead of the profile's. */
  readonly account?: ServiceAccountRef;
  /** The implementation to run instead of the one under test (needs `both-implementations`). */
  readonly implementation?: 'ours' | 'upstream';
  /** Address and credentials for the API server, instead of a kubeconfig. */
  readonly connect?: (account: ServiceAccountRef) => Promise<Connection>;
}

export interface Connection {
  /** The command in front of the program. */
  readonly before: readonly string[];
  readonly args: readonly string[];
  readonly env: Environment;
}

/** A program with one controller, or the one that runs those with a driver in one process. */
export type StartableName = ControllerName | 'csi-sidecars';

export interface Sidecars {
  readonly started: readonly SupervisedProcess[];
  /** Does not wait: a sidecar connects when it can. */
  start(name: StartableName, options?: SidecarOptions): Promise<SupervisedProcess>;
  /** Its ServiceAccount, with the permissions of the profile. */
  accountFor(name: StartableName): Promise<ServiceAccountRef>;
  /** Permissions beyond the profile, named by the feature that needs them. */
  grant(name: ControllerName, need: string, rules: readonly PolicyRule[]): Promise<void>;
}

export interface SidecarsDeps {
  readonly testRun: TestRun;
  readonly namespace: string;
  readonly driverName: string;
  readonly socket: () => string;
  readonly logs: string;
  /** Folder for kubeconfigs. */
  readonly scratch: string;
  readonly cleanUp: AsyncDisposableStack;
}

/** The file with the permissions of each program. */
export const subjects: Readonly<Record<ControllerName, ElectedSubject>> = {
  'csi-provisioner': 'external-provisioner',
  'csi-attacher': 'external-attacher',
  'csi-resizer': 'external-resizer',
  'csi-snapshotter': 'external-snapshotter',
  'csi-external-health-monitor-controller': 'external-health-monitor-controller',
  'snapshot-controller': 'snapshot-controller',
  'volume-data-source-validator': 'volume-data-source-validator',
};

/** What the combined program runs here. */
export const combinedSubjects: readonly ElectedSubject[] = [
  'external-provisioner',
  'external-attacher',
  'external-resizer',
  'external-snapshotter',
];

const withoutDriver: ReadonlySet<StartableName> = new Set(['snapshot-controller', 'volume-data-source-validator']);

export function createSidecars(deps: SidecarsDeps): Sidecars {
  const { testRun, namespace, driverName, socket, logs, scratch, cleanUp } = deps;
  const { api, clock } = testRun;
  const started: SupervisedProcess[] = [];
  const accounts = new Map<StartableName, Promise<ServiceAccountRef>>();

  const apply = async (objects: readonly RbacObject[]): Promise<void> => {
    cleanUp.defer(() => removeBindings(api, objects));
    await applyRbac(api, objects);
  };
  const rightsOf = (name: StartableName): readonly RbacObject[] => {
    const placement = { namespace, driverName };
    return name === 'csi-sidecars'
      ? combinedRbac(testRun.rbac, { account: name, of: combinedSubjects }, placement)
      : rbacObjects({ profile: testRun.rbac, subject: subjects[name] }, placement);
  };
  const accountFor = (name: StartableName): Promise<ServiceAccountRef> => {
    let account = accounts.get(name);
    if (account === undefined) {
      const objects = rightsOf(name);
      account = apply(objects).then(() => accountOf(objects));
      accounts.set(name, account);
    }
    return account;
  };

  return {
    started,
    accountFor,
    start: async (name, options = {}) => {
      const { words = [], args = [], replica, env, socket: path, server, implementation, connect } = options;
      const id = replica === undefined ? name : `${name}-${replica}`;
      const account = options.account ?? (await accountFor(name));
      const byKubeconfig = async (): Promise<Connection> => {
        const path = await kubeconfigOf(testRun.controlPlane, { account, name: id, folder: scratch, server });
        return { before: [], args: [`--kubeconfig=${path}`], env: { POD_NAMESPACE: namespace } };
      };
      const connection = await (connect ?? byKubeconfig)(account);
      // Upstream has released none.
      const own = name === 'csi-sidecars' ? 'ours' : implementation;
      const program = findProgram(name, ofImplementation(testRun, own));
      const asReplica = replica === undefined ? [] : underHostName(replica);
      const command = [...asReplica, ...connection.before, program.command, ...program.args, ...words];
      const driver = withoutDriver.has(name) ? [] : [`--csi-address=unix://${path ?? socket()}`];
      const line = [...command, ...connection.args, ...driver, '-v=5', ...args];
      const sidecar = await supervise(
        {
          name: id,
          command: line[0]!,
          args: line.slice(1),
          env: { PATH: testRun.env['PATH'], ...connection.env, ...env },
          logFile: join(logs, `${id}.log`),
        },
        clock,
      );
      cleanUp.use(sidecar);
      started.push(sidecar);
      return sidecar;
    },
    grant: async (name, need, rules) => apply(extraRules(await accountFor(name), need, rules)),
  };
}

function ofImplementation(
  { env, upstream = '' }: TestRun,
  implementation: SidecarOptions['implementation'],
): Environment {
  switch (implementation) {
    case undefined:
      return env;
    case 'ours':
      return { ...env, UPSTREAM_BIN: '' };
    case 'upstream':
      return { ...env, UPSTREAM_BIN: upstream };
  }
}
