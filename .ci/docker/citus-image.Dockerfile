# A stand-in for citusdata/citus:13 where no registry can be reached: Debian's PostgreSQL 15 and the extension, on the stand-in for Debian
# that ../shared/docker/local-images.sh makes. Its entrypoint does what the official image's does.
FROM debian:bookworm-slim
RUN apt-get update -qq \
 && mkdir -p /etc/postgresql-common/createcluster.d && echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.d/none.conf \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends postgresql-15 gosu >/dev/null \
 && rm -rf /var/lib/apt/lists/*
ADD citus.tar.gz /tmp/citus
RUN cp -r /tmp/citus/lib/. /usr/lib/postgresql/15/lib/ && cp -r /tmp/citus/extension/. /usr/share/postgresql/15/extension/ \
 && chmod -R a+rX /usr/lib/postgresql/15/lib /usr/share/postgresql/15/extension && rm -rf /tmp/citus \
 && echo "shared_preload_libraries = 'citus'" >> /usr/share/postgresql/15/postgresql.conf.sample \
 && mkdir -p /docker-entrypoint-initdb.d && echo 'CREATE EXTENSION citus;' > /docker-entrypoint-initdb.d/001-create-citus-extension.sql
COPY postgres-entrypoint.sh /usr/local/bin/docker-entrypoint.sh
RUN chmod 0755 /usr/local/bin/docker-entrypoint.sh
ENV PGDATA=/var/lib/postgresql/data PATH=/usr/lib/postgresql/15/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
VOLUME /var/lib/postgresql/data
ENTRYPOINT ["docker-entrypoint.sh"]
STOPSIGNAL SIGINT
EXPOSE 5432
CMD ["postgres"]
