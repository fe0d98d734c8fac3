export { AppendStream, type AppendTransport, type AppendTransportEvents } from '../append-stream.js';
export { MemoryBookie, type MemoryBookieOptions } from './memory-bookie.js';
export { type ClusterClient, MemoryCluster, type MemoryClusterOptions } from './memory-cluster.js';
export { MemoryRecordStore, MemoryRecords } from './memory-records.js';
export { MemoryRegistry } from './memory-registry.js';
