/** Answer of `GET .../stats`; names and units are Pulsar's (reference pulsar-api.md 2.7.1-2.7.4), kept literally. The topic fills it, the HTTP route prints it. */
export type TopicStats = Record<string, unknown>;
