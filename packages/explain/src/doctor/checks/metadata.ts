// SPDX-License-Identifier: Apache-2.0
/** Part meta: csi-snapshot-metadata against the SnapshotMetadataService that its clients read. */
import { type Check, driverCheck, factOf, type Judgement, problem } from '../check.ts';
import type { DriverFacts, MetadataServiceFacts, Readings } from '../readings/facts.ts';
import { driverPrograms, flagOf, type Running, running } from '../readings/sidecars.ts';
import { authorityMistake, calledBy, flagFact, imageFact, yamlOf } from './wording.ts';

const program = 'csi-snapshot-metadata';
const kind = 'SnapshotMetadataService';
const reads = ['metadataServices', 'workloads'] as const;
type Read = Pick<Readings, (typeof reads)[number]>;

interface Pair {
  /** Undefined: it runs nowhere. */
  readonly place: Running | undefined;
  /** Undefined: there is none. */
  readonly service: MetadataServiceFacts | undefined;
}

function pairOf({ name }: DriverFacts, { metadataServices, workloads }: Read): Pair {
  const [place] = running(workloads.of(name), program).filter(({ workload }) => workload.replicas > 0);
  return { place, service: metadataServices.find(({ driver }) => driver === name) };
}

function shared(driver: DriverFacts) {
  const object = { kind, name: driver.name };
  return { program, objects: [object], look: yamlOf(object) } as const;
}

const textOfService = ({ driver }: MetadataServiceFacts): string => `${kind} ${driver}`;

const absent: Check = driverCheck({
  id: 'meta-1',
  severity: 'warn',
  wrong:
    'csi-snapshot-metadata runs, and its driver has no SnapshotMetadataService: clients do not find it, and without --audience it refuses every request',
  mend: 'create the SnapshotMetadataService of the driver, and before it the definition if the cluster has none',
  reads,
  judge: (driver, read) => {
    const { place, service } = pairOf(driver, read);
    if (place === undefined || service !== undefined) return [];
    const { workload, sidecar } = place;
    const isRefused = (flagOf(sidecar, 'audience') ?? '') === '' && sidecar.arguments.isWhole;
    return [
      problem(`${program} of ${driver.name} runs, and no ${kind} names its address`, {
        ...shared(driver),
        ...(isRefused && { severity: 'error' }),
        objects: [workload.object],
        evidence: [factOf(`${kind}s`, driver.name, 'absent'), flagFact(workload, sidecar, 'audience')],
        look: ['kubectl', 'get', 'snapshotmetadataservices'],
      }),
    ];
  },
});

const audiences: Check = driverCheck({
  id: 'meta-2',
  severity: 'error',
  wrong: 'the audience of a SnapshotMetadataService is empty, or not that of --audience: no token is accepted',
  mend: 'give both the same audience',
  reads,
  judge: (driver, read) => {
    const { place, service } = pairOf(driver, read);
    if (place === undefined || service === undefined) return [];
    const { workload, sidecar } = place;
    const flag = flagOf(sidecar, 'audience') ?? '';
    // Upstream's releases do not look at the flag.
    const isOther = flag !== '' && !flag.includes('$(') && sidecar.flavour === 'ours' && flag !== service.audience;
    if (service.audience !== '' && !isOther) return [];
    return [
      problem(`tokens for the audience of ${textOfService(service)} are not accepted`, {
        ...shared(driver),
        evidence: [
          factOf(textOfService(service), 'spec.audience', service.audience),
          flagFact(workload, sidecar, 'audience'),
        ],
      }),
    ];
  },
});

const addresses: Check = driverCheck({
  id: 'meta-3',
  severity: 'error',
  wrong: 'no endpoint is ready behind the Service that the address of a SnapshotMetadataService names',
  mend: 'correct the address, the selector of the Service, or what keeps csi-snapshot-metadata from being ready',
  causes: ['pod-1', 'pod-8'],
  reads,
  judge: (driver, read) => {
    const { place, service } = pairOf(driver, read);
    if (place === undefined || service?.service === undefined) return [];
    const { namespace, name, readyEndpoints, missing } = service.service;
    if (missing.length > 0) return missing.map((each): Judgement => ({ kind: 'notKnown', missing: each }));
    if (readyEndpoints !== 0) return [];
    return [
      problem(`nothing answers at ${service.address}, the address of ${program} of ${driver.name}`, {
        ...shared(driver),
        evidence: [
          factOf(textOfService(service), 'spec.address', service.address),
          factOf(`Service ${namespace}/${name}`, 'ready endpoints', 0),
        ],
      }),
    ];
  },
});

const authorities: Check = driverCheck({
  id: 'meta-4',
  severity: 'error',
  wrong: 'the authority (caCert) of a SnapshotMetadataService has expired, is missing, or expires within 14 days',
  mend: 'renew the certificate of csi-snapshot-metadata, and caCert with it',
  reads,
  judge: (driver, read, { nowMs }) => {
    const { place, service } = pairOf(driver, read);
    const mistake = service && authorityMistake(service.authority, nowMs);
    if (place === undefined || service === undefined || mistake === undefined) return [];
    return [
      problem(`the authority of ${textOfService(service)} ${mistake.state}`, {
        ...shared(driver),
        severity: mistake.severity,
        evidence: [
          factOf(textOfService(service), 'spec.caCert', mistake.state),
          imageFact(place.workload, place.sidecar),
        ],
      }),
    ];
  },
});

const left: Check = driverCheck({
  id: 'meta-5',
  severity: 'warn',
  wrong: 'a driver whose sidecars run has a SnapshotMetadataService, and no csi-snapshot-metadata',
  mend: 'run csi-snapshot-metadata beside the driver, or delete the SnapshotMetadataService',
  reads,
  judge: (driver, read) => {
    const { place, service } = pairOf(driver, read);
    const [other] = running(read.workloads.of(driver.name), ...driverPrograms);
    // Controllers outside of the cluster are not seen.
    if (place !== undefined || service === undefined || other === undefined) return [];
    return [
      problem(`${textOfService(service)} names an address, and no ${program} of ${driver.name} runs`, {
        ...shared(driver),
        evidence: [
          factOf(textOfService(service), 'spec.address', service.address),
          factOf(calledBy(other.workload), `container ${program}`, 'absent'),
        ],
      }),
    ];
  },
});

export const metadataChecks: readonly Check[] = [absent, audiences, addresses, authorities, left];
