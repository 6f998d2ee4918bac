// SPDX-License-Identifier: Apache-2.0
/** Parts pod and node: versions of sidecars, of Kubernetes and of kubelets against each other. */
import type { Missing } from '../../cluster/reader.ts';
import { type Check, clusterCheck, factOf, type Judgement, problem } from '../check.ts';
import type { NodeFacts } from '../readings/facts.ts';
import type { Version } from '../readings/sidecars.ts';
import { isBelow, minorOf, oldestKubernetes, oldestPatched, versionText } from '../readings/versions.ts';
import { calledBy, imageFact, yamlOf } from './wording.ts';

const old: Check = clusterCheck({
  id: 'pod-4',
  severity: 'warn',
  wrong: 'a sidecar is of a release of upstream that gets no patches any more',
  mend: 'upgrade it',
  reads: ['workloads'],
  judge: ({ workloads }) =>
    workloads.all.flatMap((workload) =>
      workload.sidecars.flatMap((sidecar): readonly Judgement[] => {
        const { program, version, flavour } = sidecar;
        const oldest = oldestPatched[program];
        if (flavour !== 'upstream' || oldest === undefined || !isBelow(version, oldest)) return [];
        return [
          problem(
            `${program} of ${calledBy(workload)} is older than ${versionText(oldest)}: it gets no patches any more`,
            {
              driver: workloads.driverOf(workload),
              program,
              objects: [workload.object],
              evidence: [
                imageFact(workload, sidecar),
                factOf(`releases of ${program}`, 'oldest with patches in 2025', versionText(oldest)),
              ],
              look: yamlOf(workload.object),
            },
          ),
        ];
      }),
    ),
});

const noVersion: Missing = {
  verb: 'get',
  group: '',
  resource: 'version',
  namespace: undefined,
  because: 'failed',
  notKnown: 'the version of the API server',
};

const unfit: Check = clusterCheck({
  id: 'pod-5',
  severity: 'warn',
  wrong: 'Kubernetes is older than a sidecar needs',
  mend: 'upgrade Kubernetes, or run an earlier release of the sidecar',
  reads: ['workloads', 'version'],
  judge: ({ workloads, version }) => {
    const bounds = workloads.all.flatMap((workload) =>
      workload.sidecars.flatMap((sidecar) => {
        const oldest = oldestKubernetes(sidecar);
        return oldest === undefined ? [] : [{ workload, sidecar, oldest }];
      }),
    );
    const server = minorOf(version);
    if (server === undefined) return bounds.length === 0 ? [] : [{ kind: 'notKnown', missing: noVersion }];
    return bounds
      .filter(({ oldest }) => isBelow(server, oldest))
      .map(({ workload, sidecar, oldest }) =>
        problem(
          `${sidecar.program} of ${calledBy(workload)} needs Kubernetes ${versionText(oldest)}, and this is ${version}`,
          {
            driver: workloads.driverOf(workload),
            program: sidecar.program,
            objects: [workload.object],
            evidence: [imageFact(workload, sidecar), factOf('API server', 'version', version)],
            look: yamlOf(workload.object),
          },
        ),
      );
  },
});

/** How many minor versions a kubelet may be behind. */
const mostBehind = 3;

function isSkewed(kubelet: Version, server: Version): boolean {
  const behind = server.minor - kubelet.minor;
  return kubelet.major !== server.major || behind < 0 || behind > mostBehind;
}

const skewed: Check = clusterCheck({
  id: 'node-7',
  severity: 'warn',
  wrong: 'a kubelet is newer than the API server, or more than three minor versions older',
  mend: 'upgrade the API server first, then the nodes',
  reads: ['nodes', 'version'],
  judge: ({ nodes, version }, { node: asked }) => {
    const server = minorOf(version);
    if (server === undefined) return nodes.length === 0 ? [] : [{ kind: 'notKnown', missing: noVersion }];
    const isBad = ({ name, kubelet }: NodeFacts): boolean => {
      const own = minorOf(kubelet);
      return (asked === undefined || asked === name) && own !== undefined && isSkewed(own, server);
    };
    const bad = nodes.filter(isBad);
    const [first] = bad;
    if (first === undefined) return [];
    return [
      problem(
        `kubelet of ${first.name}${bad.length === 1 ? '' : ` and ${bad.length - 1} more`} is ${first.kubelet}, and the API server ${version}`,
        {
          objects: bad.map(({ name }) => ({ kind: 'Node', name })),
          evidence: [
            factOf(`Node ${first.name}`, 'status.nodeInfo.kubeletVersion', first.kubelet),
            factOf('API server', 'version', version),
          ],
          look: ['kubectl', 'get', 'nodes'],
        },
      ),
    ];
  },
});

export const versionChecks: readonly Check[] = [old, unfit];
export const skewChecks: readonly Check[] = [skewed];
